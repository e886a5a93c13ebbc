/**
 * Field numbers that the hot path uses directly: by message, and by the JSON name of the field. A test
 * compares them with the descriptors of the contract.
 */

export const SCOPE = { account: 1, project: 2 } as const

export const HEADER = { name: 1, value: 2 } as const
export const CREDENTIALS = { headers: 1 } as const
export const TOKEN_CLAIMS = { kind: 1, scope: 2 } as const

export const CHECK_REQUEST = {
  ...{ api: 1, credentials: 2, token: 3, target: 4, clientAddress: 5, request: 6 },
} as const
export const HTTP_REQUEST = { method: 1, host: 2, path: 3 } as const
export const CHECK_BATCH_REQUEST = { checks: 1 } as const
export const CHECK_STREAM_REQUEST = { id: 1, check: 2 } as const

/** The other fields belong to the decision. The generated encoder writes them, once for each decision. */
export const CHECK_RESPONSE = { verified: 9, token: 10, cacheFor: 11, position: 14, route: 15 } as const
export const FOUND_ROUTE = { api: 1, target: 2 } as const
export const VERIFIED_TOKEN = {
  kind: 1,
  scope: 2,
  subject: 3,
  tokenId: 4,
  issuedAt: 5,
  expiresAt: 6,
  roles: 7,
  authority: 8,
  projectId: 9,
  derivedFrom: 10,
} as const
export const SUBJECT = { id: 1, name: 2, type: 3 } as const
export const CHECK_BATCH_RESPONSE = { results: 1 } as const
export const CHECK_STREAM_RESPONSE = { id: 1, result: 2 } as const

export const GET_MATRIX_RESPONSE = { matrix: 1, nextPageToken: 2 } as const
export const WATCH_CHANGES_RESPONSE = {
  ...{ position: 1, rules: 2, voided: 3, validFor: 4, sentAt: 5, timeOfDay: 6, rulesPart: 7 },
} as const
export const DESCRIBE_TOKENS_RESPONSE = { tokens: 1, position: 2 } as const
export const DESCRIBED_TOKEN = { token: 1, active: 2, addresses: 3 } as const
export const RULES = { matrix: 1, cells: 2, apis: 3, routes: 6 } as const
export const POSITION = { change: 1, recordedAt: 2, basis: 3 } as const

export const ISSUE_REQUEST = { password: 1, profile: 2, scope: 3, apis: 4 } as const
export const REVOKE_REQUEST = { value: 1, tokenId: 2 } as const

/** `google.protobuf.Timestamp` and `google.protobuf.Duration` have the same fields. */
export const TIME = { seconds: 1, nanos: 2 } as const
