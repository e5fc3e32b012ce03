// SPDX-License-Identifier: Apache-2.0

// Package bfrtpb has the messages and calls of BF Runtime that this project
// uses. After a change of the .proto files, generate the messages again:
//
//	protoc --go_out=. --go_opt=paths=source_relative entity.proto service.proto
package bfrtpb

import (
	"context"

	"google.golang.org/grpc"
)

const service = "/bfrt_proto.BfRuntime/"

// Client calls the methods of a server.
type Client struct{ conn grpc.ClientConnInterface }

// NewClient returns a client on a connection.
func NewClient(conn grpc.ClientConnInterface) *Client { return &Client{conn} }

func call[Resp any](ctx context.Context, c *Client, method string, req any) (*Resp, error) {
	resp := new(Resp)
	if err := c.conn.Invoke(ctx, service+method, req, resp); err != nil {
		return nil, err
	}
	return resp, nil
}

// Write changes entries.
func (c *Client) Write(ctx context.Context, req *WriteRequest) (*WriteResponse, error) {
	return call[WriteResponse](ctx, c, "Write", req)
}

// SetForwardingPipelineConfig loads a program, or binds a client to one.
func (c *Client) SetForwardingPipelineConfig(ctx context.Context, req *SetForwardingPipelineConfigRequest) (*SetForwardingPipelineConfigResponse, error) {
	return call[SetForwardingPipelineConfigResponse](ctx, c, "SetForwardingPipelineConfig", req)
}

// GetForwardingPipelineConfig returns the loaded programs.
func (c *Client) GetForwardingPipelineConfig(ctx context.Context, req *GetForwardingPipelineConfigRequest) (*GetForwardingPipelineConfigResponse, error) {
	return call[GetForwardingPipelineConfigResponse](ctx, c, "GetForwardingPipelineConfig", req)
}

// Read reads entries. The stream returns answers until io.EOF.
func (c *Client) Read(ctx context.Context, req *ReadRequest) (grpc.ServerStreamingClient[ReadResponse], error) {
	s, err := c.conn.NewStream(ctx, &serviceDesc.Streams[0], service+"Read")
	if err != nil {
		return nil, err
	}
	x := &grpc.GenericClientStream[ReadRequest, ReadResponse]{ClientStream: s}
	if err := x.SendMsg(req); err != nil {
		return nil, err
	}
	return x, x.CloseSend()
}

// StreamChannel opens the stream for a client's subscription.
func (c *Client) StreamChannel(ctx context.Context) (grpc.BidiStreamingClient[StreamMessageRequest, StreamMessageResponse], error) {
	s, err := c.conn.NewStream(ctx, &serviceDesc.Streams[1], service+"StreamChannel")
	if err != nil {
		return nil, err
	}
	return &grpc.GenericClientStream[StreamMessageRequest, StreamMessageResponse]{ClientStream: s}, nil
}

// Server implements the methods of a server.
type Server interface {
	Write(context.Context, *WriteRequest) (*WriteResponse, error)
	Read(*ReadRequest, grpc.ServerStreamingServer[ReadResponse]) error
	SetForwardingPipelineConfig(context.Context, *SetForwardingPipelineConfigRequest) (*SetForwardingPipelineConfigResponse, error)
	GetForwardingPipelineConfig(context.Context, *GetForwardingPipelineConfigRequest) (*GetForwardingPipelineConfigResponse, error)
	StreamChannel(grpc.BidiStreamingServer[StreamMessageRequest, StreamMessageResponse]) error
}

// Register adds a server's methods to a gRPC server.
func Register(s grpc.ServiceRegistrar, srv Server) { s.RegisterService(&serviceDesc, srv) }

func unary[Req, Resp any](name string, do func(Server, context.Context, *Req) (*Resp, error)) grpc.MethodDesc {
	return grpc.MethodDesc{MethodName: name, Handler: func(srv any, ctx context.Context, dec func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		req := new(Req)
		if err := dec(req); err != nil {
			return nil, err
		}
		if interceptor == nil {
			return do(srv.(Server), ctx, req)
		}
		info := &grpc.UnaryServerInfo{Server: srv, FullMethod: service + name}
		return interceptor(ctx, req, info, func(ctx context.Context, req any) (any, error) { return do(srv.(Server), ctx, req.(*Req)) })
	}}
}

var serviceDesc = grpc.ServiceDesc{
	ServiceName: "bfrt_proto.BfRuntime",
	HandlerType: (*Server)(nil),
	Methods: []grpc.MethodDesc{
		unary("Write", Server.Write),
		unary("SetForwardingPipelineConfig", Server.SetForwardingPipelineConfig),
		unary("GetForwardingPipelineConfig", Server.GetForwardingPipelineConfig),
	},
	Streams: []grpc.StreamDesc{
		{StreamName: "Read", ServerStreams: true, Handler: func(srv any, s grpc.ServerStream) error {
			req := new(ReadRequest)
			if err := s.RecvMsg(req); err != nil {
				return err
			}
			return srv.(Server).Read(req, &grpc.GenericServerStream[ReadRequest, ReadResponse]{ServerStream: s})
		}},
		{StreamName: "StreamChannel", ServerStreams: true, ClientStreams: true, Handler: func(srv any, s grpc.ServerStream) error {
			return srv.(Server).StreamChannel(&grpc.GenericServerStream[StreamMessageRequest, StreamMessageResponse]{ServerStream: s})
		}},
	},
	Metadata: "service.proto",
}
