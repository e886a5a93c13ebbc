/** The texts of the control panel that its pages share: logging in, the menu, forms, dialogs, lists. */

const counted = (count: number, one: string, many: string): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`

export const texts = {
  language: 'en',
  name: 'Control panel',
  account: (account: string) => `Account ${account}`,
  operator: 'Operator',

  /** Names of pages, as the source has them (§4.2, §5.1). */
  pages: {
    login: 'Log in',
    invitation: 'Accept an invitation',
    link: 'Log in',
    overview: 'Overview',
    'profile/access/keys': 'API Keys',
    'profile/access/tokens': 'IAM tokens',
    'profile/security': 'Security',
    'profile/sessions': 'Sessions',
    'iam/service-users': 'Service Users',
    'iam/users': 'Users',
    projects: 'Projects',
    'access-limits': 'Access limits',
    audit: 'Audit trail',
    'operator/accounts': 'Accounts',
    'operator/callers': 'Callers',
    'operator/keys': 'Keys',
    'operator/decisions': 'Decisions',
    'operator/matrix': 'Matrix',
  },

  groups: { account: 'Account', access: 'Access', profile: 'Profile', iam: 'IAM', operator: 'Operator' },

  menu: {
    label: 'Account menu',
    navigation: 'Control panel',
    logIn: 'Log in',
    logOut: 'Log out',
  },

  login: {
    as: {
      user: {
        title: 'Log in',
        hints: [
          'No password yet? Ask the owner of your account for an invitation.',
          'Password forgotten? A new invitation replaces it.',
        ],
      },
      operator: {
        title: 'Log in as an operator',
        hints: [
          'Operators have no account and no password here. They log in with a caller token of this sidecar.',
          'The first one is in the file `administrator-token` of the data folder. `portcullis caller new` makes others.',
        ],
      },
    },
    who: 'Who are you?',
    user: 'User',
    operator: 'Operator',
    account: 'Account number',
    name: 'Name',
    password: 'Password',
    code: 'One-time code',
    codeHint: 'Six digits from your authenticator app.',
    token: 'Caller token',
    tokenHint: 'It is sent once, and is not kept in this browser.',
    button: 'Log in',
    passkey: 'Log in with a passkey',
    or: 'or',
    failed: 'The account number, the name or the password is wrong.',
    codeWrong: 'The code is wrong or has been used. Wait for the next one.',
    needsCode: 'Enter the code of your authenticator app.',
    needsPasskey: 'This user logs in with a passkey.',
    passkeyRefused: 'The passkey was not accepted. Try again, or log in another way.',
    passkeyCancelled: 'No passkey was chosen.',
    passkeyElsewhere:
      'Passkeys need a host name. Open this page at http://localhost with the same port to use one.',
    tokenInvalid: 'This caller token is unknown, expired or withdrawn.',
  },

  again: {
    title: 'Log in again',
    about: 'Your session has ended. Log in to go on. Your text is kept.',
  },

  confirm: {
    title: 'Confirm that it is you',
    about: {
      user: 'The next step shows a secret or changes how you log in.',
      operator: 'The next step shows a secret or changes what is allowed.',
    },
    button: 'Confirm',
    passkey: 'Confirm with a passkey',
    failed: 'The password is wrong.',
  },

  invitation: {
    title: 'Choose your password',
    welcome: (user: string, account: string) => `Welcome, ${user}. You were invited to account ${account}.`,
    resets: 'This replaces a former password, and removes passkeys and one-time codes.',
    until: 'The invitation ends',
    password: 'Password',
    again: 'Password again',
    button: 'Set password and log in',
    differs: 'The two passwords differ.',
    notNow: 'The invitation cannot be opened now',
    invalid: 'This invitation cannot be used',
    invalidHint:
      'It is unknown, used or more than 24 hours old. Ask the person who invited you for a new one.',
  },

  password: {
    hint: 'At least 12 characters. A short sentence is easy to remember and hard to guess.',
    show: 'Show',
    hide: 'Hide',
    faults: {
      short: 'expected at least 12 characters',
      long: 'expected at most 1,024 characters',
      repeated: 'expected more than one character repeated',
      account: 'expected a password without the account number',
      name: 'expected a password without your name',
    },
    strength: {
      weak: 'Easy to guess. Add a word or two.',
      fair: 'Fair. Another word makes it good.',
      good: 'Good.',
    },
  },

  link: {
    working: 'Logging in…',
    notNow: 'You are not logged in yet',
    lost: 'Open the link again',
    lostHint: 'The address of this page no longer has its secret.',
    invalid: 'This link cannot be used',
    invalidHint: 'It works once, and for 24 hours. A development sidecar prints a new one at each start.',
    logIn: 'Log in another way',
  },

  overview: {
    title: (name: string) => `Hello, ${name}`,
    operatorTitle: (name: string) => `Operator ${name}`,
    about: 'A program needs a token to use a product API. This is how it gets one.',
    next: 'What to do next',
    serviceUser: 'Create a service user',
    serviceUserAbout: 'A program logs in as a service user and gets IAM tokens.',
    key: 'Add an API key',
    keyAbout: 'A static token of your own. It does not expire, and is shown once.',
    request: 'Try a request',
    requestAbout: 'Paste the token, choose an API, and see whether it is let in.',
    matrix: 'See which API accepts which token',
    matrixAbout: 'Every product API, and every kind of token.',
    security: 'Secure your login',
    securityAbout: 'Add a passkey or a one-time code.',
    accounts: 'Choose an account',
    accountsAbout: 'See its users, projects and audit trail.',
    callers: 'Look at the callers',
    callersAbout: 'Who may call this sidecar, and until when.',
    decisions: 'Watch decisions',
    decisionsAbout: 'Allowed and denied requests, as they happen.',
    session: 'This session',
    since: 'Logged in',
    from: 'From',
    ends: 'Ends',
  },

  form: {
    required: (label: string) => `Enter the ${label.charAt(0).toLowerCase()}${label.slice(1)}.`,
    failed: 'It did not work',
    busy: 'Working…',
    optional: 'optional',
  },

  errors: {
    unreachable: 'The sidecar does not answer. Check whether the change was made before you try again.',
    noAnswer: 'The sidecar does not answer. Try again in a moment.',
    throttled: (seconds: number) =>
      `Too many attempts. Try again in ${counted(seconds, 'second', 'seconds')}.`,
    busy: 'The sidecar is busy. Try again in a moment.',
    internal: 'Something went wrong in the sidecar. Its log has the reason.',
    notAllowed: 'You may not do this.',
    notLoggedOut: (why: string) => `You may still be logged in. ${why}`,
  },

  offline: {
    title: 'The sidecar does not answer.',
    about: 'This page tries again by itself. Nothing that you typed is lost.',
    now: 'Try now',
  },

  dialog: { cancel: 'Cancel', close: 'Close' },

  typed: {
    about: (name: string) => `Type ${name} to confirm.`,
    label: 'Name',
    differs: 'The name differs.',
  },

  secret: {
    once: 'It is shown only once, and cannot be shown again.',
    copy: 'Copy',
    download: 'Save as a file',
    saved: 'I have saved it',
  },

  toast: { label: 'Messages', close: 'Close message' },

  list: {
    empty: 'There is nothing here yet.',
    search: 'Search',
    searchNone: 'Nothing matches the search.',
    rows: (count: number, more: boolean) =>
      more ? `${count.toLocaleString('en')} loaded, more below` : counted(count, 'entry', 'entries'),
  },

  time: { language: 'en-GB', now: 'just now', never: 'never', unknown: 'unknown' },

  missing: {
    title: 'This page is not for you',
    about: 'It does not exist, or you may not see it.',
    back: 'To the overview',
  },

  loading: 'Loading…',
  notLoaded: 'This cannot be loaded.',
  retry: 'Try again',
  broken: 'The control panel cannot be loaded. Load the page again.',
}
