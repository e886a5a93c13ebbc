package com.portcullis.client;

import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.mapping;
import static java.util.stream.Collectors.toList;

import com.portcullis.v1.ApiCells;
import com.portcullis.v1.CellNote;
import com.portcullis.v1.CheckResponse;
import com.portcullis.v1.TokenKind;
import com.portcullis.v1.TokenPlace;
import com.portcullis.v1.VerifiedToken;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The answers of the sidecar about verified tokens (clients/conformance, "Decisions"). It never
 * changes.
 */
final class Rules {
  /**
   * Questions that a cell distinguishes: three scopes with four targets each, then the faults of a
   * credential.
   */
  private static final int SITUATIONS = 20;

  private static final int OF_ACCOUNT = 4;
  private static final int OF_PROJECT = 8;
  private static final int OF_FAULTS = 12;
  private static final int SAME_TARGET = 1;
  private static final int OTHER_PROJECT = 2;
  private static final int OTHER_ACCOUNT = 3;

  /**
   * A kind of token of the matrix.
   *
   * @param id is interned, as those of known tokens
   * @param described a token of the kind and where it belongs, for a sentence
   * @param places the prefixes of its tokens in each place; an empty one does not identify them
   * @param level where the situations of its level begin
   */
  record Kind(
      String id,
      String described,
      Map<String, List<String>> places,
      int level,
      AcceptedKind accepted) {
    /** Whether its tokens travel so. */
    boolean carries(String at, String value) {
      return places.getOrDefault(at, List.of()).stream().anyMatch(value::startsWith);
    }
  }

  /** The row of an API. */
  record Row(
      Rules rules,
      String api,
      Reason[][] cells,
      List<AcceptedKind> accepted,
      List<CellNote> notes) {
    Reason reason(int column, int situation) {
      return cells[column][situation];
    }

    Kind kind(int column) {
      return rules.kinds[column - 1];
    }

    String allowedMessage(int column) {
      return "`" + api + "` accepts " + kind(column).described;
    }

    /** The words of the matrix about the cell, besides the mark. */
    List<String> advice(int column) {
      return notes.stream()
          .filter(each -> each.getKind().equals(kind(column).id))
          .map(CellNote::getText)
          .toList();
    }
  }

  /** Rules that lack a cell, or the places of a kind. */
  static final class Incomplete extends Exception {
    private static final long serialVersionUID = 1;

    Incomplete() {
      super(
          "expected rules with the places of each kind of token, and a cell for each API and kind");
    }
  }

  final String digest;

  /** The headers of credentials. */
  final CredentialHeader[] headers;

  final Map<String, Row> rows = new HashMap<>();
  private final Kind[] kinds;

  /** Null: the sidecar must be asked about each request. */
  final Routes routes;

  /** Of APIs that are not in the matrix. */
  private final Row unknown;

  Rules(com.portcullis.v1.Rules message) throws Incomplete {
    digest = message.getMatrix().getRulesDigest();
    routes = message.hasRoutes() ? new Routes(message.getRoutes()) : null;
    kinds =
        message.getMatrix().getTokenKindsList().stream().map(Rules::kindOf).toArray(Kind[]::new);
    if (Arrays.stream(kinds).anyMatch(each -> each.places.isEmpty())) {
      throw new Incomplete();
    }
    headers =
        CredentialHeader.of(
            message.getMatrix().getTokenKindsList().stream()
                .flatMap(each -> each.getPlacesList().stream())
                .toList());
    var cells = new Reason[message.getCellsCount()][];
    for (var index = 0; index < cells.length; index++) {
      cells[index] =
          message.getCells(index).getReasonsValueList().stream()
              .map(Reason::of)
              .toArray(Reason[]::new);
      if (cells[index].length < SITUATIONS) {
        throw new Incomplete();
      }
    }
    // Many APIs accept the same kinds, and have the same cells. They are kept once.
    var known = new HashMap<List<Integer>, Row>();
    for (var each : message.getApisList()) {
      var like = known.get(each.getCellsList());
      if (like == null) {
        var own = cellsOf(each, cells);
        like = new Row(this, each.getApi(), own, acceptedBy(own), List.of());
        known.put(each.getCellsList(), like);
      }
      rows.put(
          each.getApi(),
          new Row(this, each.getApi(), like.cells, like.accepted, each.getNotesList()));
    }
    unknown = rows.get("");
    if (unknown == null) {
      throw new Incomplete();
    }
  }

  private static Kind kindOf(TokenKind message) {
    var level = message.getScopeLevel().equals("project") ? OF_PROJECT : OF_ACCOUNT;
    var accepted =
        AcceptedKind.of(
            message.getId(),
            message.getHeader(),
            message.getScheme(),
            message.getIssuable(),
            message.getObtained(),
            message.getLink());
    var places =
        message.getPlacesList().stream()
            .collect(
                groupingBy(CredentialHeader::placeOf, mapping(TokenPlace::getPrefix, toList())));
    return new Kind(message.getId().intern(), message.getDescribed(), places, level, accepted);
  }

  private Reason[][] cellsOf(ApiCells message, Reason[][] cells) throws Incomplete {
    if (message.getCellsCount() != 1 + kinds.length) {
      throw new Incomplete();
    }
    var found = new Reason[message.getCellsCount()][];
    for (var column = 0; column < found.length; column++) {
      // A number beyond the middle of its range is negative here.
      int index = message.getCells(column);
      if (index < 0 || index >= cells.length) {
        throw new Incomplete();
      }
      found[column] = cells[index];
    }
    return found;
  }

  private List<AcceptedKind> acceptedBy(Reason[][] cells) {
    var accepted = new ArrayList<AcceptedKind>();
    for (var column = 1; column < cells.length; column++) {
      var kind = kinds[column - 1];
      if (cells[column][kind.level] == Reason.ALLOWED) {
        accepted.add(kind.accepted);
      }
    }
    return List.copyOf(accepted);
  }

  Row row(String api) {
    var found = rows.get(api);
    return found == null ? unknown : found;
  }

  /** The column of a kind; 0: it is not in the matrix. */
  int column(String kind) {
    for (var index = 0; index < kinds.length; index++) {
      if (kinds[index].id.equals(kind)) {
        return index + 1;
      }
    }
    return 0;
  }

  /**
   * Whether these rules would have given an answer about an API (clients/conformance, "Learning").
   *
   * @param claims null: a credential was asked about
   * @param place where the credential was
   * @param value null: there was none
   */
  boolean wouldGive(
      String api, Scope target, Claims claims, String place, String value, CheckResponse response) {
    var reason = Reason.of(response.getReasonValue());
    if (reason == Reason.UNSPECIFIED
        || response.getAllowed() != (reason == Reason.ALLOWED)
        || !response.getRulesDigest().equals(digest)) {
      return false;
    }
    var row = row(api);
    if (claims != null) {
      var scope = claims.scope();
      var situation = situationOf(scope.account(), scope.project(), target);
      return !response.hasToken()
          && !response.getVerified()
          && reason == row.reason(column(claims.kind()), situation);
    }
    var token = response.getToken();
    if (response.hasToken() && (value == null || !isWhole(token))) {
      return false;
    }
    if (!response.getVerified()) {
      var situation = Math.max(situationOfFault(reason), OF_FAULTS);
      return reason == row.reason(column(token.getKind()), situation);
    }
    var scope = token.getScope();
    return response.hasToken()
        && carries(token.getKind(), place, value)
        && reason
            == row.reason(
                column(token.getKind()),
                situationOf(scope.getAccount(), scope.getProject(), target));
  }

  /**
   * Whether tokens of the kind travel so. Those of a kind that is not in the matrix travel
   * anywhere.
   */
  boolean carries(String kind, String place, String value) {
    var column = column(kind);
    return column == 0 || kinds[column - 1].carries(place, value);
  }

  /** Whether changes can name all that a token depends on. */
  private static boolean isWhole(VerifiedToken token) {
    var scope = token.getScope();
    return !token.getTokenId().isEmpty()
        && !token.getSubject().getId().isEmpty()
        && !scope.getAccount().isEmpty()
        && (scope.getProject().isEmpty() || !token.getProjectId().isEmpty());
  }

  /** The situation of a token with that scope. */
  static int situationOf(String account, String project, Scope target) {
    if (account.isEmpty()) {
      return 0;
    }
    var situation = project.isEmpty() ? OF_ACCOUNT : OF_PROJECT;
    if (target == null) {
      return situation;
    }
    if (!target.account().equals(account)) {
      return situation + OTHER_ACCOUNT;
    }
    return situation + (target.project().equals(project) ? SAME_TARGET : OTHER_PROJECT);
  }

  /** The situation of a fault of the credential; below 0: the reason is not one. */
  static int situationOfFault(Reason reason) {
    var fault = reason.ordinal() - Reason.CREDENTIAL_MISSING.ordinal();
    return fault < 0 || fault >= SITUATIONS - OF_FAULTS ? -1 : OF_FAULTS + fault;
  }
}
