# SPDX-License-Identifier: Apache-2.0
# A static binary and nothing else, not run as root. Network interfaces
# (--port 1@if:…) need --cap-add NET_RAW --cap-add NET_ADMIN.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -tags=grpcnotrace -ldflags="-s -w" -o /pauseless ./cmd/pauseless

FROM scratch
COPY --from=build /pauseless /pauseless
USER 65532:65532
EXPOSE 9559 9100
ENTRYPOINT ["/pauseless"]
