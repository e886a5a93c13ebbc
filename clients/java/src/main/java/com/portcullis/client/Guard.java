package com.portcullis.client;

import static java.util.Objects.requireNonNull;

import jakarta.servlet.DispatcherType;
import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.FilterConfig;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Function;

/**
 * A filter of servlets that lets requests pass whose token opens an API. It answers the others
 * itself: 401 or 403 with what would be accepted, 503 where there is no answer.
 *
 * <pre>{@code
 * context.addFilter(new Guard(client, "balance").target(request -> accountOf(request)), "/accounts/*", null);
 * }</pre>
 */
public final class Guard extends AbstractGuard<HttpServletRequest, Guard> implements Filter {
  /** Names the attribute of a request that passed, with the answer. */
  private static final String ANSWER = Answer.class.getName();

  /**
   * Guards one API.
   *
   * @param client that is asked
   * @param api that all requests ask for
   */
  public Guard(Client client, String api) {
    this(client, request -> api, Set.of(requireNonNull(api, "api")));
  }

  /**
   * Guards several APIs.
   *
   * @param client that is asked
   * @param apiOf names the API of a request; a request for which it returns null or none is denied
   */
  public Guard(Client client, Function<? super HttpServletRequest, String> apiOf) {
    this(client, apiOf, Set.of());
  }

  private Guard(
      Client client, Function<? super HttpServletRequest, String> apiOf, Set<String> apis) {
    super(client, apiOf, apis, request -> ipOf(request.getRemoteAddr()));
  }

  /**
   * Leaves it to the routes of the sidecar which API a request asks for, and who owns the requested
   * resource. A request that they refuse is denied: no route has it, it does not say whose resource
   * it asks for, or servers could read it in different ways.
   *
   * <p>The path is {@link HttpServletRequest#getRequestURI()} with its query, as the container
   * returns it, whatever a wrapper says. A container that decodes or rewrites it before (a rewrite
   * handler of Jetty, a rewrite valve of Tomcat) cannot be noticed here: it must leave the request
   * as it arrived. Where the container takes another host than the one in the header Host, both are
   * passed on, which the routes refuse. A request that a wrapper gives another method or path, or
   * that is dispatched anew within the program, is denied (500).
   *
   * @param client that is asked
   * @return a guard without a target
   */
  public static Guard routes(Client client) {
    return new Guard(client, ROUTES);
  }

  @Override
  Request arrived(HttpServletRequest request) {
    var told = request;
    while (told instanceof HttpServletRequestWrapper wrapper
        && wrapper.getRequest() instanceof HttpServletRequest inner) {
      told = inner;
    }
    // The program acts on what the wrapper says, and the routes would decide about something else.
    if (!told.getMethod().equals(request.getMethod())
        || !pathOf(told).equals(pathOf(request))
        || request.getDispatcherType() != DispatcherType.REQUEST) {
      throw new IllegalStateException(
          "expected a request as it arrived, before a filter changes its method or path, or dispatches it");
    }
    var query = told.getQueryString();
    return new Request(
        told.getMethod(), hostOf(told), told.getRequestURI() + (query == null ? "" : "?" + query));
  }

  /** The path by which the program finds a handler, not decoded. */
  private static String pathOf(HttpServletRequest request) {
    var path = request.getRequestURI();
    var context = request.getContextPath();
    return context != null && path.startsWith(context) ? path.substring(context.length()) : path;
  }

  /** A request may name its host in its first line as well, and the container goes by that. */
  private static String hostOf(HttpServletRequest told) {
    var server = told.getServerName();
    var host = String.join(",", headersOf(told).values("Host"));
    if (host.isEmpty()) {
      return server;
    }
    var colon = host.lastIndexOf(':');
    var name = colon > host.lastIndexOf(']') ? host.substring(0, colon) : host;
    return Ascii.isSameName(bare(name), bare(server)) ? host : host + "," + server;
  }

  @Override
  Guard self() {
    return this;
  }

  @Override
  public void init(FilterConfig config) {
    start();
  }

  @Override
  public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
      throws IOException, ServletException {
    if (!(request instanceof HttpServletRequest asked)
        || !(response instanceof HttpServletResponse answered)) {
      throw new ServletException("expected a request of HTTP");
    }
    var verdict = judge(asked, headersOf(asked));
    if (verdict.denial() != null) {
      write(verdict.denial(), answered);
      return;
    }
    asked.setAttribute(ANSWER, verdict.answer());
    chain.doFilter(request, response);
  }

  private static void write(Denial denial, HttpServletResponse response) throws IOException {
    var body = denial.body().getBytes(StandardCharsets.UTF_8);
    response.setStatus(denial.status());
    denial.headers().forEach(response::setHeader);
    response.setContentLength(body.length);
    response.getOutputStream().write(body);
  }

  /**
   * The headers of a request.
   *
   * @param request of a servlet
   * @return the same
   */
  public static Headers headersOf(HttpServletRequest request) {
    return new Headers() {
      @Override
      public Collection<String> values(String name) {
        var values = request.getHeaders(name);
        return values == null ? List.of() : Collections.list(values);
      }

      @Override
      public void forEach(BiConsumer<String, String> visit) {
        var names = request.getHeaderNames();
        if (names == null) {
          throw new IllegalStateException(
              "expected a container that returns the headers of a request");
        }
        Collections.list(names)
            .forEach(name -> values(name).forEach(value -> visit.accept(name, value)));
      }
    };
  }

  /**
   * The answer that let a request pass.
   *
   * @param request of a servlet
   * @return empty: no guard did
   */
  public static Optional<Answer> answerOf(ServletRequest request) {
    return request.getAttribute(ANSWER) instanceof Answer answer
        ? Optional.of(answer)
        : Optional.empty();
  }

  /**
   * The verified token of a request that passed: who sent it.
   *
   * @param request of a servlet
   * @return empty: no guard let it pass
   */
  public static Optional<Token> tokenOf(ServletRequest request) {
    return answerOf(request).flatMap(Answer::token);
  }
}
