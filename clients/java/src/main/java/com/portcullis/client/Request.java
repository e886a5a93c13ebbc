package com.portcullis.client;

import static java.util.Objects.requireNonNull;

/**
 * A request of HTTP as it arrived: neither decoded nor corrected. A call of gRPC is one, too.
 *
 * @param method for example "GET"; of gRPC it is "POST"
 * @param host the header Host or :authority; empty: there is none; several ones are joined with a
 *     comma
 * @param path the request target with its query; of gRPC it is "/package.Service/Method"
 */
public record Request(String method, String host, String path) {
  /**
   * Checks that all parts are there.
   *
   * @param method for example "GET"
   * @param host the header Host or :authority; empty: there is none
   * @param path the request target with its query
   */
  public Request {
    requireNonNull(method, "method");
    requireNonNull(host, "host");
    requireNonNull(path, "path");
  }
}
