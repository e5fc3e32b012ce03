// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"github.com/pauseless/pauseless/internal/infile"
)

// GRPCConfig describes a gRPC server for a Server.
type GRPCConfig struct {
	// Cert and Key are the files of the server's certificate. Without them the
	// server uses plain text. CA is a file with certificates that must have signed
	// the clients' certificates. Without it clients need none.
	Cert, Key, CA string
	// MaxMessage limits the size of a message in bytes: if zero, a 56th of
	// Options.Memory, but 4 to 64 MiB. A forwarding pipeline configuration is one
	// message.
	MaxMessage int
	// MaxStreams limits the concurrent calls on one connection: 256 if zero.
	MaxStreams uint32
	// Calls, if set, is called after each call.
	Calls func(method string, code codes.Code, took time.Duration)
	Log   *slog.Logger
	// Wrap, if not nil, wraps every unary call, for tests that observe a server.
	Wrap func(req any, call func() (any, error)) (any, error)
}

// handshakeTime is how long a client may take for the handshakes of TLS and HTTP/2.
const handshakeTime = 10 * time.Second

// GRPC returns a gRPC server with this service, health and reflection.
func (s *Server) GRPC(cfg GRPCConfig) (*grpc.Server, error) {
	if cfg.MaxMessage == 0 {
		cfg.MaxMessage = int(s.budget.message)
	}
	if cfg.MaxStreams == 0 {
		cfg.MaxStreams = 256
	}
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	opts := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(cfg.MaxMessage),
		grpc.MaxConcurrentStreams(cfg.MaxStreams),
		grpc.MaxHeaderListSize(1 << 16),
		grpc.ConnectionTimeout(handshakeTime),
		grpc.InTapHandle(s.admit.tap),
		grpc.ForceServerCodecV2(s.admit.codec()),
		grpc.StatsHandler(s.admit),
		// A failed controller is detected in less than two seconds, so that another one
		// can replace it.
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Second, Timeout: 800 * time.Millisecond}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
		grpc.UnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (resp any, err error) {
			defer s.admit.release(req)
			defer ended(cfg, log, info.FullMethod, time.Now(), &err)
			if err := s.admit.complete(ctx, req); err != nil {
				return nil, err
			}
			if cfg.Wrap != nil {
				return cfg.Wrap(req, func() (any, error) { return next(ctx, req) })
			}
			return next(ctx, req)
		}),
		grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
			defer ended(cfg, log, info.FullMethod, time.Now(), &err)
			r := &received{ServerStream: stream, a: s.admit}
			defer r.swap(nil)
			return next(srv, r)
		}),
	}
	creds, err := cfg.credentials()
	if err != nil {
		return nil, err
	}
	if creds != nil {
		opts = append(opts, grpc.Creds(creds))
	}
	g := grpc.NewServer(opts...)
	s.Register(g)
	h := health.NewServer()
	h.SetServingStatus("", healthv1.HealthCheckResponse_SERVING)
	h.SetServingStatus(p4v1.P4Runtime_ServiceDesc.ServiceName, healthv1.HealthCheckResponse_SERVING)
	healthv1.RegisterHealthServer(g, h)
	reflection.Register(g)
	return g, nil
}

// ended records a call, and converts a panic of a handler to an error: a bug in
// one call must not stop the data path.
func ended(cfg GRPCConfig, log *slog.Logger, method string, start time.Time, err *error) {
	if p := recover(); p != nil {
		*err = status.Errorf(codes.Internal, "BUG: %v", p)
		log.Error("panic in call", "method", method, "panic", p)
	}
	took := time.Since(start)
	code := status.Code(*err)
	if cfg.Calls != nil {
		cfg.Calls(method, code, took)
	}
	switch code {
	case codes.OK, codes.Canceled:
		log.Debug("call", "method", method, "code", code.String(), "took", took)
	default:
		log.Info("call failed", "method", method, "code", code.String(), "error", brief((*err).Error()), "first", brief(firstError(*err)), "took", took)
	}
}

// firstError returns the first element's error of a failed batch, which only
// the details contain.
func firstError(err error) string {
	for i, d := range status.Convert(err).Details() {
		if e, ok := d.(*p4v1.Error); ok && e.CanonicalCode != int32(codes.OK) && e.CanonicalCode != int32(codes.Aborted) {
			return fmt.Sprintf("%d: %v: %s", i+1, codes.Code(e.CanonicalCode), e.Message)
		}
	}
	return ""
}

// credentials returns the server's TLS credentials, or nil for plain text.
func (c *GRPCConfig) credentials() (credentials.TransportCredentials, error) {
	switch {
	case c.Cert == "" && c.Key == "" && c.CA == "":
		return nil, nil
	case c.Cert == "" || c.Key == "":
		return nil, errors.New("TLS needs both a certificate and its key")
	}
	t, err := infile.ServerTLS(c.Cert, c.Key, c.CA)
	if err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return credentials.NewTLS(t), nil
}

// Loopback reports whether an address is reachable only from this machine.
func Loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
