package com.portcullis.client;

import static com.portcullis.client.Question.text;
import static java.util.Objects.requireNonNull;

/**
 * The scope that a token is bound to, or that a resource belongs to.
 *
 * @param account the number of the account
 * @param project the name of a project of the account; empty: the whole account
 */
public record Scope(String account, String project) {
  /**
   * Checks that nothing is null.
   *
   * @param account the number of the account
   * @param project the name of a project of the account; empty: the whole account
   */
  public Scope {
    requireNonNull(account, "account");
    requireNonNull(project, "project");
  }

  /**
   * A whole account.
   *
   * @param account the number of the account
   */
  public Scope(String account) {
    this(account, "");
  }

  static Scope of(com.portcullis.v1.Scope message) {
    return new Scope(message.getAccount(), message.getProject());
  }

  com.portcullis.v1.Scope message() {
    return com.portcullis.v1.Scope.newBuilder()
        .setAccount(text(account))
        .setProject(text(project))
        .build();
  }
}
