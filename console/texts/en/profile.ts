/** The texts of the profile: API keys, IAM tokens, sessions and security. */

const counted = (count: number, one: string, many: string): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`

const seconds = (count: number): string => counted(count, 'second', 'seconds')

export const texts = {
  items: {
    more: (count: number) => `Show ${count.toLocaleString('en')} more`,
  },

  names: {
    empty: 'expected a name',
    long: 'expected at most 255 characters',
    invisible: 'expected a name without control characters and other invisible characters',
    blanks: 'expected a name without blanks around it',
    composed: 'expected letters with their accents as one character (NFC)',
  },

  lastUse: {
    none: 'Last use not recorded yet',
    today: 'Last used today',
    yesterday: 'Last used yesterday',
    on: 'Last used',
  },

  keys: {
    title: 'API Keys',
    about:
      'Static tokens of your own. A static token has no expiry, so revoke what you no longer use. It opens certain products, and no cloud infrastructure.',
    list: 'API keys',
    add: 'Add Key',
    empty: 'You have no API key yet.',
    emptyHint: 'Choose Add Key, enter a name, and copy the key into the program that needs it.',
    noneActive: 'You have no active API key.',
    showRevoked: 'Show revoked keys',
    ends: 'Ends with',
    created: 'Created',
    revokedAt: 'Revoked',
    badges: { waiting: 'Still works', sending: 'Revoking…', failed: 'Not revoked', revoked: 'Revoked' },
    revoke: 'Revoke',
    /** The action of a button, and its key. */
    of: (what: string, name: string) => `${what}: ${name}`,
    undo: 'Undo',
    now: 'Revoke now',
    again: 'Revoke again',
    keep: 'Keep the key',
    waiting: (left: number) => `It is revoked in ${seconds(left)}, and works until then.`,
    failed: (message: string) => `It could not be revoked, so it may still work. ${message}`,
    said: {
      waiting: (name: string) =>
        `The key ${name} is revoked in ten seconds, and works until then. You can undo it.`,
      undone: (name: string) => `The key ${name} stays.`,
      sending: () => '',
      revoked: (name: string) => `The key ${name} is revoked.`,
      failed: (name: string, message: string) => `The key ${name} could not be revoked. ${message}`,
    },
    notRevoked: (name: string) => `The key ${name} could not be revoked, so it may still work.`,
    taken: 'You have an active key with this name. Choose another name, or revoke that key first.',
    dialog: {
      title: 'Add Key',
      name: 'Key name',
      hint: 'Its purpose, for example the name of the program.',
      kind: 'Kind of token',
      note: 'Note',
      noteHint: 'For a later reader: where the key is used, and who asked for it.',
      button: 'Add',
    },
    secret: {
      title: (name: string) => `The key ${name} is added`,
      about: 'Copy the key now.',
      label: 'API key (static token)',
    },
  },

  request: {
    read: 'Read it into a variable',
    readHint: 'Run it, paste the token and press Enter. Nothing shows it, and no history has it.',
    title: 'A request with it',
    hint: 'BASE_URL is the address of the product API.',
    check: 'Ask this sidecar whether it is let in',
  },

  tokens: {
    title: 'IAM tokens',
    about: 'An IAM token of your own, for your account or for one project. It ends after 24 hours.',
    warning: 'Such tokens are recommended for testing only. Working tools use a service user.',
    serviceUsers: 'To the service users',
    scope: 'The token is for',
    scopes: { account: 'The account', project: 'A project' },
    project: 'Project',
    projectHint: 'The name of the project.',
    choose: 'Choose a project',
    projectNeeded: 'expected the name of a project',
    create: 'Create token',
    created: 'The token is created.',
    there: 'You have a token. It works until',
    found: 'You have a token already. Copy it, or reissue it.',
    copy: 'Copy token',
    reissue: 'Reissue token',
    shown: {
      account: (account: string) => `IAM token for account ${account}`,
      project: (project: string) => `IAM token for project ${project}`,
    },
    label: 'Token',
    copied: 'The token is copied.',
    issued: 'A new token is issued.',
    notCopied: 'The browser did not allow copying. Use the button beside the token.',
    expires: 'Expires',
    confirm: {
      title: 'Reissue the token?',
      about: 'A new token is issued, and the previous one is revoked: programs that use it are denied.',
      button: 'Reissue',
    },
  },

  sessions: {
    title: 'Sessions',
    about: 'Where you are logged in. End any session that you do not recognize, then change your password.',
    list: 'Sessions',
    here: 'This session',
    client: (browser: string | undefined, system: string | undefined) =>
      [browser ?? 'Unknown browser', system].filter((part) => part !== undefined).join(' on '),
    from: 'From',
    began: 'Logged in',
    lastUsed: 'Last used',
    ends: 'Ends',
    end: 'End',
    endNamed: (client: string, address: string) => `End: ${client}, ${address}`,
    ended: 'The session has ended.',
    endOthers: 'End all others',
    confirm: {
      title: 'End all other sessions?',
      about: 'Every other browser that is logged in as you is logged out at once. This session stays.',
      button: 'End all others',
    },
    endedOthers: (count: number) => `${counted(count, 'session has', 'sessions have')} ended.`,
    alone: 'You are not logged in anywhere else.',
  },

  security: {
    title: 'Security',
    about: 'How you log in.',
    ways: {
      none: 'You have no password. Set one, or you need another link to log in.',
      password: 'You log in with your password alone. Add a passkey or a one-time code.',
      code: 'You log in with your password and a one-time code.',
      passkey: 'You log in with a passkey.',
      'passkey code': 'You log in with a passkey, or with your password and a one-time code.',
    },

    password: {
      title: 'Password',
      changed: 'Changed',
      none: 'You have not set one.',
      change: 'Change password',
      set: 'Set password',
      current: 'Current password',
      new: 'New password',
      again: 'New password again',
      wrong: 'The current password is wrong.',
      same: 'expected another password than the current one',
      differs: 'The two passwords differ.',
      ends: 'Your other sessions end.',
      done: 'The password is changed. Your other sessions have ended.',
      doneFirst: 'The password is set.',
    },

    code: {
      title: 'One-time codes',
      about: 'An authenticator app shows six digits that you enter after your password.',
      since: 'Set up',
      needsPassword: 'It has no effect until you have a password.',
      on: 'On',
      add: 'Set up',
      remove: 'Remove',
      setUp: {
        title: 'Set up one-time codes',
        scan: 'Scan this with your authenticator app.',
        picture: 'QR code with the secret of the one-time code',
        secret: 'Or enter this secret in the app',
        open: 'Open in an app on this device',
        code: 'Code that the app shows now',
        codeHint: 'Six digits.',
        codeFault: 'expected six digits',
        wrong: 'The code is wrong or has been used. Wait for the next one.',
        tooLate: 'The setup took too long. Scan the new picture, and enter its code.',
        button: 'Confirm',
        done: 'One-time codes are on.',
      },
      removal: {
        title: 'Remove one-time codes?',
        about: 'You are no longer asked for codes.',
        alone: 'You then log in with your password alone.',
        button: 'Remove',
        done: 'One-time codes are removed.',
      },
    },

    passkeys: {
      title: 'Passkeys',
      about:
        'A passkey is kept by your device or by a security key. It takes the place of the account number, name and password.',
      list: 'Passkeys',
      empty: 'You have no passkey yet.',
      add: 'Add a passkey',
      full: 'You have 20 passkeys, the maximum. Remove one to add another.',
      hostName: 'Browsers allow passkeys only at a host name, not at an IP address.',
      open: 'Open this page at',
      elsewhere: 'Open this page with the host name of the sidecar.',
      dialog: {
        title: 'Add a passkey',
        name: 'Name of the passkey',
        hint: 'Where it is kept, for example the name of your phone.',
        button: 'Add',
        cancelled: 'No passkey was made. Try again.',
        known: 'This device has a passkey for you already.',
        refused: 'The passkey was not accepted. Try again.',
        done: (name: string) => `The passkey ${name} is added.`,
      },
      added: 'Added',
      remove: 'Remove',
      removeNamed: (name: string) => `Remove ${name}`,
      removal: {
        title: (name: string) => `Remove the passkey ${name}?`,
        about: 'It can no longer be used to log in.',
        alone: 'You then log in with your password alone.',
        button: 'Remove',
        done: (name: string) => `The passkey ${name} is removed.`,
      },
    },
  },
}
