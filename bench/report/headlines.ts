/**
 * The rows that matter most to a reader who wants to know the cost of Portcullis. The docs show them first.
 */

export interface Headline {
  readonly suite: string
  /** Id of the row. */
  readonly row: string
  /** The cost, for a reader who does not know the suites. */
  readonly what: string
}

/**
 * In the order in which the docs show them: in process, calls of the sidecar, a login, and other software.
 */
export const HEADLINES: readonly Headline[] = [
  { suite: 'engine', row: 'decide', what: 'a decision in your process (`decide`)' },
  { suite: 'sidecar', row: 'check-iam-token-1x1', what: '`Check` of an IAM token, one call at a time' },
  { suite: 'sidecar', row: 'check-claims', what: '`Check` of claims, under load' },
  { suite: 'sidecar', row: 'check-iam-token', what: '`Check` of an IAM token, under load' },
  { suite: 'sidecar', row: 'check-static-token', what: '`Check` of a static token, under load' },
  {
    suite: 'sidecar',
    row: 'check-batch',
    what: 'a decision in a `CheckBatch` of 100, under load (p50 and p99: the whole batch)',
  },
  { suite: 'issue', row: 'issue-http', what: 'a login (`POST /identity/v3/auth/tokens`)' },
  { suite: 'servers', row: 'cerbos-time', what: '`Check` of claims, beside Cerbos' },
  { suite: 'servers', row: 'opa-time', what: '`Check` of claims, beside OPA' },
  { suite: 'servers', row: 'json-opa-time', what: '`Check` of claims as JSON over HTTP/1.1, beside OPA' },
  { suite: 'servers', row: 'keystone-time', what: 'the validation of a token, beside Keystone' },
  {
    suite: 'servers',
    row: 'keystone-check-time',
    what: '`Check` of a token of a Keystone, from the cache, beside a validation by that Keystone',
  },
]

/** The rows for sizing a machine: the processor time of each. */
export const SIZED: readonly Headline[] = [
  {
    suite: 'sidecar',
    row: 'check-iam-token-1x1',
    what: '`Check` of an IAM token in use, one call at a time',
  },
  {
    suite: 'sidecar',
    row: 'check-iam-token',
    what: '`Check` of an IAM token in use, 128 at a time',
  },
  { suite: 'sidecar', row: 'check-static-token-1x1', what: '`Check` of a static token, one call at a time' },
  { suite: 'sidecar', row: 'check-batch', what: 'a decision in a `CheckBatch` of 100' },
  { suite: 'ext-authz', row: 'check-sockets', what: 'a request of Envoy (`ext_authz`), 128 at a time' },
  { suite: 'servers', row: 'authorize-opa-cpu', what: 'a request of another proxy (`/authorize`)' },
  { suite: 'egress', row: 'forward', what: 'a request that egress forwards' },
  { suite: 'tokens', row: 'unseen-token', what: '`Check` of an IAM token never seen before' },
  { suite: 'issue', row: 'issue-http-cpu', what: 'a login' },
]

/** Rows whose figure is the time between two of something, on a quiet machine. */
export const RATES: readonly Headline[] = [
  { suite: 'distance', row: 'one-host', what: 'changes of one host, PostgreSQL' },
  { suite: 'distance', row: 'two-hosts', what: 'changes of two hosts together, PostgreSQL' },
  {
    suite: 'distance',
    row: 'beside-far',
    what: 'changes of one host, beside another one that is 200 ms away',
  },
  { suite: 'issue', row: 'issue-http', what: 'logins of one host' },
]

/** The sentence of the README: rows of the table that the docs show first, and so in its unit. */
export const COSTS = {
  check: { suite: 'servers', row: 'cerbos-time' },
  opa: { suite: 'servers', row: 'opa-time' },
  keystone: { suite: 'servers', row: 'keystone-check-time' },
} as const
