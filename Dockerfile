# SPDX-License-Identifier: Apache-2.0
# A static binary and nothing else, not run as root. Network interfaces
# (--port 1@if:…) need --cap-add NET_RAW --cap-add NET_ADMIN. The builder has an exact
# version; to pin its bytes, too, append the digest that `docker buildx imagetools inspect
# golang:1.26.8 --format '{{.Manifest.Digest}}'` prints, as in golang:1.26.8@sha256:...
# What --version says:
#
#   docker build --build-arg COMMIT=$(git rev-parse HEAD) --build-arg DATE=$(git log -1 --format=%cI) .
FROM golang:1.26.8 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG COMMIT
ARG DATE
RUN CGO_ENABLED=0 go build -trimpath -tags=grpcnotrace,nethttpomithttp2 -pgo=packaging/pauseless.pgo -ldflags="-s -w -X main.commit=$COMMIT -X main.date=$DATE" -o /pauseless ./cmd/pauseless

FROM scratch
COPY --from=build /pauseless /pauseless
USER 65532:65532
EXPOSE 9559 9100
ENTRYPOINT ["/pauseless"]
