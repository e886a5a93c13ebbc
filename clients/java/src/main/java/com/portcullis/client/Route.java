package com.portcullis.client;

import com.portcullis.v1.FoundRoute;

/**
 * The findings of the sidecar's routes about a request.
 *
 * @param api the id of the API that the request asks for; empty: the request is refused
 * @param target the account, and the project if any, that owns the requested resource; null: only
 *     the matrix decides
 * @param refused why the routes refuse the request, for example "NO_ROUTE"; empty: they do not
 */
public record Route(String api, Scope target, String refused) {
  static Route of(FoundRoute message) {
    return new Route(
        message.getApi(),
        message.hasTarget() ? Scope.of(message.getTarget()) : null,
        message.getRefused());
  }

  /**
   * Whether the sidecar has found a route, and the client no other one.
   *
   * @param known null: the client has found none
   */
  boolean isFoundAs(Route known) {
    return !api.isEmpty() && refused.isEmpty() && (known == null || equals(known));
  }
}
