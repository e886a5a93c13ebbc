package com.portcullis.client;

import com.portcullis.v1.RouteSegment;
import com.portcullis.v1.RouteSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The routes of the sidecar, by which a client in local mode finds the API of a plain request: one
 * that every server reads in the same way. The sidecar is asked about all others, so nothing is
 * decoded or corrected here (clients/conformance, "Routes"). It never changes.
 */
final class Routes {
  private static final int METHOD_MAX = 32;
  private static final int HOST_MAX = 255;
  private static final int PORT_MAX = 5;
  private static final int PATH_MAX = 8192;
  private static final int VALUE_MAX = 255;

  /** Some server could take a segment for another text than it is. */
  private static final OneRoute ASK = new OneRoute(null, "", List.of(), false, 0, null, null);

  /**
   * By the name of the host, without a port. A wildcard begins with a dot, and the empty name is
   * any host.
   */
  private final Map<String, Place> hosts = new HashMap<>();

  /** Whether some route has methods. */
  private final boolean isNamingMethods;

  /** Headers that override the path or the method. */
  private final String[] overrides;

  /** The text behind a path. */
  private enum End {
    ANY,
    /** A route for all that is below a path is not for that path. */
    ALONE,
    SLASH
  }

  /**
   * The request that is looked for. The path is without a slash at its end, and the host without
   * its port and in lower case.
   */
  private record Wanted(String path, String host, String method, End end) {}

  /**
   * A route.
   *
   * @param found what it says, without a target
   */
  private record OneRoute(
      Route found,
      String host,
      List<String> methods,
      boolean below,
      int segments,
      Source account,
      Source project) {
    /** Whether every server takes the host for that of the route: not all ignore case and port. */
    boolean isWritten(String asked) {
      if (host.startsWith(".")) {
        return asked.endsWith(host) && asked.equals(Ascii.lowerCase(asked));
      }
      return host.isEmpty() || host.equals(asked);
    }

    /** Whether it makes no difference which of the two is the route. */
    boolean isSame(OneRoute other) {
      if (other == this || other == null || other == ASK) {
        return other == this;
      }
      return found.api().equals(other.found.api())
          && account == null
          && project == null
          && other.account == null
          && other.project == null;
    }
  }

  Routes(com.portcullis.v1.Routes message) {
    overrides = message.getOverridesList().toArray(String[]::new);
    isNamingMethods = message.getRoutesList().stream().anyMatch(each -> each.getMethodsCount() > 0);
    for (var each : message.getRoutesList()) {
      var place = hosts.computeIfAbsent(each.getHost().split(":", 2)[0], key -> new Place());
      for (var segment : each.getSegmentsList()) {
        place = place.next(segment);
      }
      var account = each.hasAccount() ? Source.of(each.getAccount(), each.getSegmentsList()) : null;
      var project = each.hasProject() ? Source.of(each.getProject(), each.getSegmentsList()) : null;
      var made =
          new OneRoute(
              new Route(each.getApi(), null, ""),
              each.getHost(),
              List.copyOf(each.getMethodsList()),
              each.getBelow(),
              each.getSegmentsCount(),
              account,
              project);
      (each.getBelow() ? place.below : place.here).add(made);
    }
  }

  /** The route of a plain request. Null: the sidecar must be asked. */
  Route find(Request request, Headers headers) {
    var end = endOfPlainPath(request.path());
    var host = plainHost(request.host());
    if (end < 0 || host == null || !isPlainMethod(request.method())) {
      return null;
    }
    for (var name : overrides) {
      if (!headers.values(name).isEmpty()) {
        return null;
      }
    }
    var path = request.path().substring(0, end);
    var rest = request.path().substring(end);
    if (isNamingMethods && mayNameMethod(rest)) {
      return null;
    }
    var found = first(new Wanted(path, host, request.method(), End.ANY));
    if (found == null || found == ASK || !found.isWritten(request.host())) {
      return null;
    }
    if (request.method().equals("HEAD") && !found.methods.isEmpty()) {
      return null;
    }
    // Servers differ in whether "/a/" is "/a", and in whether "/a" is below "/a/".
    if (rest.startsWith("/")) {
      if (!found.isSame(first(new Wanted(path, host, request.method(), End.SLASH)))) {
        return null;
      }
    } else if (found.below && found.segments == path.chars().filter(each -> each == '/').count()) {
      var other = first(new Wanted(path, host, request.method(), End.ALONE));
      if (other != null && !found.isSame(other)) {
        return null;
      }
    }
    if (found.account == null && found.project == null) {
      return found.found;
    }
    var account = found.account == null ? "" : found.account.value(path, headers);
    var project = found.project == null ? "" : found.project.value(path, headers);
    if (account.isEmpty() || project.isEmpty() && found.project != null) {
      return null;
    }
    return new Route(found.found.api(), new Scope(account, project), "");
  }

  /**
   * The first route that matches: of the host, of its wildcards, the longest first, and of any
   * host. Null: there is none.
   */
  private OneRoute first(Wanted wanted) {
    var name = wanted.host;
    while (true) {
      var place = hosts.get(name);
      var found = place == null ? null : place.find(wanted, 1);
      if (found != null || name.isEmpty()) {
        return found;
      }
      var dot = name.indexOf('.', 1);
      name = dot < 0 ? "" : name.substring(dot);
    }
  }

  /** The word, or something encoded in the name of a parameter. */
  private static boolean mayNameMethod(String query) {
    var inName = false;
    for (var index = 0; index < query.length(); index++) {
      switch (query.charAt(index)) {
        case '?', '&', ';' -> inName = true;
        case '=' -> inName = false;
        case '%' -> {
          if (inName) {
            return true;
          }
        }
        default -> {}
      }
    }
    return Ascii.lowerCase(query).contains("method");
  }

  private static boolean isPlainMethod(String method) {
    for (var index = 0; index < method.length(); index++) {
      if (method.charAt(index) < 'A' || method.charAt(index) > 'Z') {
        return false;
      }
    }
    return !method.isEmpty() && method.length() <= METHOD_MAX;
  }

  /** The host without its port, in lower case. Null: it is not plain. */
  private static String plainHost(String host) {
    if (host.length() > HOST_MAX) {
      return null;
    }
    var colon = host.indexOf(':');
    if (colon >= 0 && !isPort(host.substring(colon + 1))) {
      return null;
    }
    var name = colon < 0 ? host : host.substring(0, colon);
    var last = '.';
    for (var index = 0; index < name.length(); index++) {
      var letter = name.charAt(index);
      var isInLabel = isAlphanumeric(letter) || letter == '-' || letter == '_';
      if (!isInLabel && (letter != '.' || last == '.')) {
        return null;
      }
      last = letter;
    }
    return last == '.' ? null : Ascii.lowerCase(name);
  }

  private static boolean isPort(String text) {
    return !text.isEmpty()
        && text.length() <= PORT_MAX
        && text.chars().allMatch(each -> each >= '0' && each <= '9');
  }

  private static boolean isAlphanumeric(char letter) {
    return letter >= 'a' && letter <= 'z'
        || letter >= 'A' && letter <= 'Z'
        || letter >= '0' && letter <= '9';
  }

  /** Whether a plain segment may have the character. */
  private static boolean isPlain(char letter) {
    return isAlphanumeric(letter)
        || switch (letter) {
          case '-', '.', '_', '~', ':', '@', '+', '=' -> true;
          default -> false;
        };
  }

  /** Where the path ends, without a slash at its end. Below 0: the request target is not plain. */
  private static int endOfPlainPath(String target) {
    var last = '\0';
    var end = 0;
    for (; end < target.length() && target.charAt(end) != '?'; end++) {
      var letter = target.charAt(end);
      // Neither an empty segment, nor one with a dot at its end.
      var isFit = letter == '/' ? last != '/' && last != '.' : isPlain(letter);
      if (!isFit || end == PATH_MAX) {
        return -1;
      }
      last = letter;
    }
    if (end == 0 || target.charAt(0) != '/' || last == '.') {
      return -1;
    }
    for (var index = end; index < target.length(); index++) {
      var letter = target.charAt(index);
      if (letter < 0x21 || letter > 0x7e || letter == '#') {
        return -1;
      }
    }
    return last == '/' ? end - 1 : end;
  }

  /** Where routes part: the segments of a path up to there. */
  private static final class Place {
    private final Map<String, Place> literals = new HashMap<>();

    /** The texts of literals as lenient servers compare them, and the length of the longest. */
    private final Set<String> folded = new HashSet<>();

    private int foldedMax;

    /** By their texts, the longest first, as the sidecar sends them. */
    private final Map<String, Capture> captures = new LinkedHashMap<>();

    /** Routes whose path ends here, and those for all that is below as well. */
    final List<OneRoute> here = new ArrayList<>();

    final List<OneRoute> below = new ArrayList<>();

    private record Capture(String text, String folded, Place place) {}

    Place next(RouteSegment segment) {
      var text = segment.getText();
      var form = segment.hasFolded() ? segment.getFolded() : text;
      if (segment.getCapture()) {
        return captures.computeIfAbsent(text, key -> new Capture(text, form, new Place())).place;
      }
      folded.add(form);
      foldedMax = Math.max(foldedMax, form.length());
      return literals.computeIfAbsent(text, key -> new Place());
    }

    /**
     * The first route that matches. Null: there is none.
     *
     * @param start where the next segment begins; beyond the end of the path: there is none
     */
    OneRoute find(Wanted wanted, int start) {
      OneRoute found = null;
      if (start > wanted.path.length()) {
        if (wanted.end != End.SLASH) {
          found = withMethod(here, wanted.method);
        } else if (captures.containsKey("")) {
          // Some servers accept an empty name.
          return ASK;
        }
        if (wanted.end == End.ALONE) {
          return found;
        }
      } else if (!literals.isEmpty() || !captures.isEmpty()) {
        found = findNext(wanted, start);
      }
      return found == null ? withMethod(below, wanted.method) : found;
    }

    private OneRoute findNext(Wanted wanted, int start) {
      var slash = wanted.path.indexOf('/', start);
      var end = slash < 0 ? wanted.path.length() : slash;
      var segment = wanted.path.substring(start, end);
      var literal = literals.get(segment);
      if (literal != null) {
        var found = literal.find(wanted, end + 1);
        if (found != null) {
          return found;
        }
      } else if (isSimilar(segment)) {
        return ASK;
      }
      for (var each : captures.values()) {
        if (segment.length() > each.text.length() && segment.startsWith(each.text)) {
          var found = each.place.find(wanted, end + 1);
          if (found != null) {
            return found;
          }
        } else if (segment.equals(each.text)) {
          return ASK;
        }
      }
      return null;
    }

    /** Whether some server would take the segment for a text that it is not. */
    private boolean isSimilar(String segment) {
      var lower = Ascii.lowerCase(segment);
      if (folded.contains(lower)) {
        return true;
      }
      // "admin.json" for "admin".
      for (var end = lower.indexOf('.');
          end >= 0 && end <= foldedMax;
          end = lower.indexOf('.', end + 1)) {
        if (folded.contains(lower.substring(0, end))) {
          return true;
        }
      }
      for (var each : captures.values()) {
        if (!each.text.isEmpty()
            && !segment.startsWith(each.text)
            && lower.startsWith(each.folded)) {
          return true;
        }
      }
      return false;
    }
  }

  /** Null: there is none. */
  private static OneRoute withMethod(List<OneRoute> routes, String method) {
    for (var each : routes) {
      if (each.methods.isEmpty() || each.methods.contains(method)) {
        return each;
      }
    }
    return null;
  }

  /**
   * Where a part of the target is found. Where nothing is set, it is nowhere.
   *
   * @param fixed empty: it is not fixed
   * @param header empty: it is not in a header
   * @param segment the index of a segment; below 0: it is not in the path
   * @param textLength the length of the text that the segment begins with
   */
  private record Source(String fixed, String header, int segment, int textLength) {
    static Source of(RouteSource message, List<RouteSegment> segments) {
      // A number beyond the middle of its range is negative here.
      var index = message.hasSegment() ? message.getSegment() : -1;
      var isCapture = index >= 0 && index < segments.size() && segments.get(index).getCapture();
      return new Source(
          message.getFixed(),
          message.getHeader(),
          isCapture ? index : -1,
          isCapture ? segments.get(index).getText().length() : 0);
    }

    /** Empty: the sidecar must be asked. */
    String value(String path, Headers headers) {
      if (!fixed.isEmpty()) {
        return fixed;
      }
      var value = header.isEmpty() ? segmentOf(path) : headerOf(headers);
      if (value.length() > VALUE_MAX) {
        return "";
      }
      for (var index = 0; index < value.length(); index++) {
        if (!isPlain(value.charAt(index))) {
          return "";
        }
      }
      return value;
    }

    private String headerOf(Headers headers) {
      var values = headers.values(header);
      return values.size() == 1 ? values.iterator().next() : "";
    }

    private String segmentOf(String path) {
      if (segment < 0) {
        return "";
      }
      var start = 1;
      for (var index = 0; index < segment; index++) {
        start = path.indexOf('/', start) + 1;
      }
      var end = path.indexOf('/', start);
      return path.substring(start + textLength, end < 0 ? path.length() : end);
    }
  }
}
