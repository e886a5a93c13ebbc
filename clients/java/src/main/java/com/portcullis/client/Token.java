package com.portcullis.client;

import com.google.protobuf.Timestamp;
import com.portcullis.v1.VerifiedToken;
import java.time.Instant;
import java.util.List;

/**
 * A token that the sidecar has verified.
 *
 * @param kind the id of its kind
 * @param scope the scope that it is bound to
 * @param subject who holds it
 * @param id names the token without revealing it
 * @param issuedAt when it was issued
 * @param expiresAt when it expires; null: never
 * @param roles the roles of the holder in the scope, as an upstream names them
 * @param authority the name of the upstream that verifies it; empty: the sidecar's own directory
 *     does
 * @param projectId the id of the project of its scope; empty: it has none
 * @param derivedFrom the ids of the tokens that it was derived from; it ends with any of them
 */
public record Token(
    String kind,
    Scope scope,
    Subject subject,
    String id,
    Instant issuedAt,
    Instant expiresAt,
    List<String> roles,
    String authority,
    String projectId,
    List<String> derivedFrom) {
  static Token of(VerifiedToken message) {
    var subject = message.getSubject();
    return new Token(
        message.getKind(),
        Scope.of(message.getScope()),
        new Subject(subject.getId(), subject.getName(), subject.getType()),
        message.getTokenId(),
        instantOf(message.getIssuedAt()),
        message.hasExpiresAt() ? instantOf(message.getExpiresAt()) : null,
        List.copyOf(message.getRolesList()),
        message.getAuthority(),
        message.getProjectId(),
        List.copyOf(message.getDerivedFromList()));
  }

  static Instant instantOf(Timestamp message) {
    return Instant.ofEpochSecond(message.getSeconds(), message.getNanos());
  }
}
