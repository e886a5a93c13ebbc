/**
 * The texts of the explorer, and of what is on top of every page, in English. Another language is another
 * folder with the same files.
 */

export const counted = (count: number, one: string, many: string): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`

export const texts = {
  language: 'en',
  name: 'Portcullis',
  skip: 'Skip to the content',
  pages: { matrix: 'Matrix', try: 'Try it', plan: 'Plan', compare: 'Compare', edit: 'Edit' },
  navigation: 'Pages',
  panel: 'Control panel',
  copy: 'Copy',
  copied: 'Copied',
  notCopied: 'Not copied: select and copy it',
  copyLink: 'Copy link',
  close: 'Close',
  cancel: 'Cancel',
  broken: {
    title: 'The page cannot be shown',
    matrix:
      'The matrix could not be read. Load the page again; if that does not help, the log of the sidecar has the reason.',
  },

  theme: { label: 'Colors', system: 'System', light: 'Light', dark: 'Dark' },

  mode: {
    label: 'Mode',
    resolved: 'Resolved',
    strict: 'Strict',
    resolvedHint: 'A contested cell is decided by the resolution of its conflict.',
    strictHint: 'Every contested cell is denied.',
  },

  contested: 'contested',

  states: {
    allowed: 'Allowed',
    denied: 'Denied',
    'allowed-contested': 'Allowed',
    'denied-contested': 'Denied',
    'denied-strict': 'Denied by strict mode',
  },

  table: {
    caption: 'Which API accepts which kind of token',
    api: 'API',
    inHeader: (header: string) => `in ${header}`,
    search: 'Search APIs',
    searchHint: 'Search APIs by name or id, or cells by an expression such as opens cdn',
    filters: 'Filters',
    kinds: 'Opened by',
    headers: 'Sent in',
    contested: 'Contested',
    clear: 'Clear filters',
    moreKinds: (count: number) => `${counted(count, 'more kind', 'more kinds')}`,
    fewerKinds: 'Fewer kinds',
    shown: (shown: number, all: number) =>
      shown === all
        ? counted(all, 'API', 'APIs')
        : `${shown.toLocaleString('en')} of ${counted(all, 'API', 'APIs')}`,
    none: 'No API matches.',
    noneHint: 'Remove a filter, or search for another word.',
    public: 'needs no token',
    legend: 'Legend',
  },

  cell: {
    panel: 'Details',
    accepts: 'This API accepts',
    public: 'A request without a token is allowed.',
    note: (note: string) => `Its note: ${note}`,
    acceptsNothing: 'No kind of token opens this API.',
    decision: 'Decision',
    reason: 'Reason',
    header: 'Header',
    source: 'The source',
    table: 'Table',
    marks: (title: string, kind: string, marked: boolean) =>
      marked
        ? `The row “${title}” marks the ${kind} with ✓.`
        : `The row “${title}” marks the ${kind} with ✗.`,
    ofRow: (name: string, digest: string, line: number) =>
      `The document has this row in line ${line} of ${name} (${digest}…).`,
    ofWords: (name: string, line: number) => `The document has these words in line ${line} of ${name}.`,
    prose: 'Text',
    silent: 'This list claims to be complete, and does not name the API.',
    conflict: {
      contradiction: 'Contradiction',
      omission: 'Omission',
      duplicate_row: 'Repeated row',
      overstatement: 'Overstatement',
    },
    resolution: { table: 'The table decides.', prose: 'The text decides.' },
    otherMode: {
      strict: 'In strict mode',
      resolved: 'Without strict mode',
    },
    sameInOtherMode: {
      strict: 'Strict mode changes nothing here.',
      resolved: 'Without strict mode it would be the same.',
    },
    request: 'Send the request',
    requestHint: 'BASE_URL is the address of the API. Before it, read -rs TOKEN reads the token.',
    login: 'Obtain the token',
    steps: 'Create the token',
    ask: 'Ask a sidecar',
    tryIt: 'Try it with headers',
    addToPlan: 'Add to the plan',
    unknown: 'The matrix has no such cell. The link may be for another matrix.',
  },

  otherMatrix: {
    note: (link: string, shown: string) =>
      `This link was made with another matrix (${link}…). You see ${shown}…, where cells may differ.`,
    hide: 'Hide',
  },

  try: {
    title: 'Try it',
    about: 'Paste the headers of a request, and choose the API that it is for.',
    example: 'This is an example. Paste the headers of your request over it, and choose its API.',
    private: 'Headers stay in this page. They are in no link, and nothing is sent.',
    privateUntilVerified: 'Headers stay in this page until you verify them. They are in no link.',
    headers: 'Request headers',
    headersHint: (place: string) => `${place}${place.includes(':') ? ' ' : ': '}…`,
    api: 'API',
    choose: 'Choose the API that the request is for.',
    found: (header: string) => `A credential was found in \`${header}\`.`,
    fault: 'No usable credential was found.',
    candidates: 'Only an authority knows which token it is. The matrix says of each kind in this header:',
    noKind: 'It does not begin as the tokens of a kind do that are sent there, so it is denied.',
    one: 'Only an authority knows whether the token is genuine. The matrix says:',
    other: (names: string) => `These headers carry no credential: ${names}.`,
    unread: (lines: string) => `Not read as headers: line ${lines}.`,
    obtain: 'How to obtain a token for it',
    verify: 'Verify with this sidecar',
    verifyHint: 'Sends the credential to the sidecar that served this page, and nowhere else.',
    verifying: 'Verifying…',
    circumstances: {
      title: 'Account, project and address of the request',
      hint: 'Optional: what a service also sends the sidecar. Without them it judges the token and the API alone.',
      account: 'Account that owns the resource',
      project: 'Project that owns it',
      clientAddress: 'IP address of the client',
    },
    answer: 'The sidecar answered',
    kind: (title: string) => `The token is genuine. Its kind: ${title}.`,
    failed: 'The sidecar gave no answer',
    unreachable: 'It cannot be reached.',
    clear: 'Clear headers',
  },

  plan: {
    title: 'Plan',
    about: 'Choose the APIs of a job. The plan is the smallest set of tokens that opens all of them.',
    apis: 'APIs of the job',
    choose: 'Add an API',
    remove: (api: string) => `Remove ${api}`,
    clear: 'Remove all',
    example: 'This is an example. An API that you add begins your own plan.',
    empty: 'Choose an API to see the plan.',
    tokens: (count: number) => counted(count, 'token', 'tokens'),
    opens: 'Opens',
    permission: 'Permission',
    permissionScopes: { account: 'Account', projects: 'Projects, with the project selected' },
    permissionOf: (scopes: string) => `A permission with the scope ${scopes}`,
    or: ' or ',
    noPermission: 'None',
    issuedTo: 'Issued to',
    holders: { service_user: 'a service user', control_panel_user: 'a control panel user' } as Readonly<
      Record<string, string>
    >,
    lifetime: 'Lifetime',
    noExpiry: 'no expiry',
    hours: (hours: number) => counted(hours, 'hour', 'hours'),
    seconds: (seconds: number) => counted(seconds, 'second', 'seconds'),
    unopened: 'No kind of token opens:',
    unknown: 'Not in this matrix:',
    viaLogin: 'Obtain it from the identity endpoint',
    viaSidecar: 'Obtain it through a sidecar',
    steps: {
      issue: 'How to obtain it',
      control_panel: 'Create it in the control panel',
      elsewhere: 'How to obtain it',
    },
    open: 'Open without a token:',
    send: 'Send it',
    command: 'The same on a command line',
  },

  settings: { title: 'Settings', open: 'Settings and keys' },

  help: {
    title: 'Keys',
    rows: [
      ['/', 'Search'],
      ['↓, Enter', 'From the search into the table'],
      ['↑ ↓ ← →', 'Move in the table'],
      ['Home, End', 'First and last cell of the row'],
      ['Ctrl Home, Ctrl End', 'First and last cell'],
      ['Page Up, Page Down', 'A page up or down'],
      ['Enter', 'Open the cell'],
      ['Esc', 'Close what is open'],
      ['1 2 3 4 5', 'Matrix, Try it, Plan, Compare, Edit (not in the control panel)'],
      ['?', 'Settings and keys'],
    ] as readonly (readonly [keys: string, does: string])[],
    singleKeys: 'Keys without Ctrl or Alt are shortcuts',
  },

  overview: {
    label: 'This matrix',
    opens: (count: number, all: number) =>
      `opens ${count.toLocaleString('en')} of ${all.toLocaleString('en')}`,
    conflicts: 'Where the source contradicts itself',
    noConflicts: 'The source does not contradict itself.',
  },

  footer: {
    digest: 'Digest',
    digestHint: 'Names exactly this matrix.',
    sections: 'The source is the document that this matrix is made from. § is a section of it.',
  },
}
