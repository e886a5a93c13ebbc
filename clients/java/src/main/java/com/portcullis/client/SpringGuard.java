package com.portcullis.client;

import static java.util.Objects.requireNonNull;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicLong;
import org.springframework.web.filter.OncePerRequestFilter;

/**
 * A {@link Guard} as a filter of Spring, which asks once about each request.
 *
 * <pre>{@code
 * http.addFilterBefore(new SpringGuard(new Guard(client, "balance")), AuthorizationFilter.class);
 * }</pre>
 */
public final class SpringGuard extends OncePerRequestFilter {
  private static final AtomicLong COUNT = new AtomicLong();

  private final Guard guard;
  private final long number = COUNT.incrementAndGet();

  /**
   * Makes the filter.
   *
   * @param guard decides
   */
  public SpringGuard(Guard guard) {
    this.guard = requireNonNull(guard, "guard");
  }

  @Override
  protected void initFilterBean() {
    guard.start();
  }

  @Override
  protected void doFilterInternal(
      HttpServletRequest request, HttpServletResponse response, FilterChain chain)
      throws ServletException, IOException {
    guard.doFilter(request, response, chain);
  }

  /**
   * Filters of one class without a name have one attribute, so after the first guard of a request
   * another one would not look at it.
   */
  @Override
  protected String getAlreadyFilteredAttributeName() {
    return super.getAlreadyFilteredAttributeName() + "." + number;
  }
}
