package com.portcullis.client;

/**
 * A kind of token that an API accepts.
 *
 * @param kind its id
 * @param header the header to send it in
 * @param scheme what comes before the token in that header, for example {@code Bearer}; empty: the
 *     header has the token alone
 * @param issuable whether {@link Client#issue} can issue it
 */
public record AcceptedKind(String kind, String header, String scheme, boolean issuable) {}
