/** Reasons why second factors are not set up or used: a part of the table in call-error.ts. */

export const FACTOR_ERRORS = {
  CODE_UNREADABLE: {
    code: 'FAILED_PRECONDITION',
    message:
      'the one-time code was set up with another pepper than this host has; an invitation removes the code',
    retry: false,
  },
  PASSKEYS_NOT_POSSIBLE: {
    code: 'FAILED_PRECONDITION',
    message: 'browsers do not allow passkeys at `{origin}`; expected https with a host name, or `{local}`',
    retry: false,
  },
  PASSKEYS_FULL: {
    code: 'FAILED_PRECONDITION',
    message: 'a user has at most {max} passkeys; delete one first',
    retry: false,
  },
} as const
