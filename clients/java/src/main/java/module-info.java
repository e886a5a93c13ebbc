/**
 * Asks a Portcullis sidecar whether credentials open APIs, and obtains tokens from it.
 *
 * <p>A program needs the modules of gRPC and protobuf. Servlets, Spring and OkHttp are needed only
 * by programs that have them anyway.
 */
module com.portcullis.client {
  exports com.portcullis.client;
  exports com.portcullis.v1;

  requires transitive io.grpc;
  requires transitive io.grpc.stub;
  requires transitive com.google.protobuf;
  requires transitive java.net.http;
  requires io.grpc.protobuf;
  requires proto.google.common.protos;
  requires transitive com.google.common;
  requires static transitive jakarta.servlet;
  requires static transitive spring.web;
  requires static spring.beans;
  requires static spring.context;
  requires static spring.core;
  requires static transitive okhttp3;
}
