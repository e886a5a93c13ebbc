/** Reasons why second factors are not set up or used: a part of the table in call-error.ts. */

export const FACTOR_ERRORS = {
  CODE_UNREADABLE: {
    code: 'FAILED_PRECONDITION',
    message:
      'this host has another pepper than the one that set up the one-time code; an invitation removes the code',
    retry: false,
  },
  PASSKEYS_NOT_POSSIBLE: {
    code: 'FAILED_PRECONDITION',
    message: 'browsers have no passkeys for `{origin}`; expected https with the name of a host, or `{local}`',
    retry: false,
  },
  PASSKEYS_FULL: {
    code: 'FAILED_PRECONDITION',
    message: 'a user has at most {max} passkeys; delete one first',
    retry: false,
  },
} as const
