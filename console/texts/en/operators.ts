/** The texts of the pages of operators: accounts, callers, keys, decisions and the matrix in force. */

interface Left {
  readonly users: number
  readonly projects: number
}

const counted = (count: number, one: string, many: string): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`

export const texts = {
  accounts: {
    title: 'Accounts',
    about: 'Each account has its own users, projects and tokens. Open one to see its users.',
    list: 'Accounts',
    search: 'Find an account',
    empty: 'There is no account yet.',
    number: 'Account',
    state: 'State',
    created: 'Created',
    actions: 'Actions',
    enabled: 'Enabled',
    disabled: 'Disabled',
    create: 'Create account',
    createTitle: 'Create an account',
    label: 'Account number',
    hint: 'Letters, digits, “.”, “_” and “-”. It cannot be changed later.',
    createdToast: (account: string) => `Account ${account} was created.`,
    disable: 'Disable',
    disableOf: (account: string) => `Disable account ${account}`,
    disableAbout: 'From now on, no token of this account opens any API, and its sessions here end.',
    disabledToast: (account: string) => `Account ${account} is disabled.`,
    enable: 'Enable',
    enableOf: (account: string) => `Enable account ${account}`,
    enabledToast: (account: string) => `Account ${account} is enabled.`,
    delete: 'Delete',
    deleteOf: (account: string) => `Delete account ${account}`,
    deleteAbout:
      'Its users, its projects and all of its tokens are deleted with it. They cannot be restored.',
    deletedToast: (account: string, users: number, projects: number) =>
      `Account ${account} was deleted with ${counted(users, 'user', 'users')} and ${counted(projects, 'project', 'projects')}.`,
    open: (account: string) => `Users of account ${account}`,
    /** `undefined`: nothing is left. */
    left: ({
      unmarked,
      due,
      kept,
    }: Readonly<Record<'unmarked' | 'due' | 'kept', Left>>): string | undefined => {
      const parts = [
        { state: 'to mark', ...unmarked },
        { state: 'to remove', ...due },
        { state: 'kept for now', ...kept },
      ].flatMap(({ state, users, projects }) =>
        users + projects === 0
          ? []
          : `${counted(users, 'user', 'users')} and ${counted(projects, 'project', 'projects')} ${state}`,
      )
      return parts.length === 0 ? undefined : `Left of deletions: ${parts.join('; ')}.`
    },
    onlyYours: 'You see the accounts that this caller administers.',
  },

  callers: {
    title: 'Callers',
    about:
      'The programs and people with rights at this sidecar. They are changed in its configuration, which it reads again within a second.',
    list: 'Callers',
    empty: 'There is no caller.',
    name: 'Name',
    rights: 'Rights',
    profiles: 'Profiles',
    knownBy: 'Known by',
    ends: 'Ends',
    never: 'never',
    expired: 'Expired',
    noRights: 'none',
    noProfiles: 'none',
    more: (count: number) => `and ${count.toLocaleString('en')} more`,
    identifiedBy: { token: 'caller token', certificate: 'client certificate' },
    you: 'you',
    details: (name: string) => `Caller ${name}`,
  },

  keys: {
    title: 'Keys',
    about: 'The keys and certificates of this sidecar. No private key is shown here.',
    signing: 'Signing keys of IAM tokens',
    id: 'Key',
    state: 'State',
    since: 'In this state',
    made: 'Made',
    madeUnknown: 'not recorded',
    states: {
      staged: 'Staged: will sign next',
      active: 'Active: signs',
      retired: 'Retired: still verifies',
    } as Readonly<Record<string, string>>,
    old: 'The active key has signed for more than 90 days. Replace it with the staged key.',
    rotate: 'Rotate the keys, on the host of the data folder',
    checksOnly: 'This host only checks tokens. Its keys are rotated where tokens are signed.',
    certificates: 'Certificates',
    noCertificates: 'No listener of this sidecar speaks TLS.',
    what: 'In the configuration',
    subject: 'Subject',
    ends: 'Ends',
    certificateStates: {
      valid: 'Valid',
      ends_soon: 'Ends within 30 days',
      ended: 'Has ended',
    } as Readonly<Record<string, string>>,
    renew: 'Put the new certificate into its file. A running sidecar uses it within a second.',
    secrets: 'Secrets of the data folder',
    pepper: 'Key for the hashes of static tokens',
    administratorToken: 'Administrator token',
    written: (ago: string) => `its file was written ${ago}`,
    missing: 'its file is missing',
    off: 'switched off, or its file is missing',
    switchOff: 'A caller with `everything` can do all that it can. Then it can be switched off.',
  },

  decisions: {
    title: 'Decisions',
    about: 'Allowed and denied requests, as they happen.',
    when: 'When',
    whens: { live: 'Live', past: 'Past' },
    list: 'Decisions, the newest first',
    off: 'This sidecar has no decision log',
    offAbout:
      'The live tail shows its lines. Switch it on in the configuration, and start the sidecar again:',
    offConfig: 'decision_log:\n  file:\n    path: decisions.log\n',
    offTitle: 'portcullis.yaml',
    states: {
      connecting: 'Connecting…',
      listening: 'Listening',
      paused: 'Paused',
      waiting: 'Not connected. It tries again by itself.',
    },
    refused: 'You cannot listen now.',
    pause: 'Pause',
    resume: 'Resume',
    resumeWith: (count: number) => `Resume and show ${counted(count, 'new entry', 'new entries')}`,
    pauses: 'It pauses by itself when you scroll or choose a row.',
    clear: 'Clear',
    received: (count: number) => `${counted(count, 'decision', 'decisions')} so far`,
    shown: (count: number) => `${counted(count, 'entry', 'entries')} shown, at most 1,000`,
    sampled: (percent: number) =>
      `Of decisions that allow and are not contested, ${percent} of 100 have a line. All others have one.`,
    workers: (count: number) =>
      `This sidecar is ${count.toLocaleString('en')} processes. You see the decisions of the one that answers you.`,
    search: 'Find a caller, account, user, fingerprint…',
    filters: 'Filters',
    verdict: 'Allowed or denied',
    verdicts: { all: 'All', allowed: 'Allowed', denied: 'Denied' },
    reason: 'Reason',
    anyReason: 'Any reason',
    api: 'API',
    anyApi: 'Any API',
    readOut: 'Read out',
    readOutHint: 'A screen reader says once every five seconds how many decisions there were.',
    spoken: (count: number, denied: number) => `${counted(count, 'decision', 'decisions')}, ${denied} denied`,
    empty: 'No decision yet. Each one appears here when it is made.',
    emptyFilter: 'No decision matches the filters yet.',
    missed: (count: number) =>
      `${counted(count, 'decision is', 'decisions are')} not shown: they came too fast for this page`,
    time: 'Time',
    decision: 'Decision',
    allowed: 'Allowed',
    denied: 'Denied',
    kind: 'Kind',
    caller: 'Caller',
    account: 'Account',
    anonymous: 'not identified',
    cell: 'See this cell in the matrix',
    row: 'See this API in the matrix',
    onlyApi: 'Show only this API',
    onlyReason: 'Show only this reason',
    copy: 'Copy the line',
    members: {
      time: 'Time',
      reason: 'Reason',
      observed: 'Observe mode',
      api: 'API',
      kind: 'Kind of token',
      protocol: 'Asked over',
      caller: 'Caller',
      scope: 'Token bound to',
      target: 'Target',
      subject: 'User',
      token: 'Fingerprint of the token',
      header: 'Header',
      client_address: 'Client address',
      conflicts: 'Conflicts',
      mode: 'Mode',
      matrix: 'Matrix',
      request_id: 'Request',
      trace_id: 'Trace',
      sentence: 'Message to the caller',
      rules: 'Rules',
      now: 'The rules of now',
      latency: 'Took',
      sampled: 'Stands for',
      dropped: 'Without a line before it',
    },
    passed: 'The request passed all the same.',
    past: {
      about: 'Decisions that the log of this host has, the newest first.',
      list: 'Decisions of the past',
      form: 'Find decisions',
      fields: {
        since: 'From',
        until: 'Before',
        user: 'User',
        api: 'API',
        reason: 'Reason',
        account: 'Account',
        project: 'Project',
        address: 'Client address',
        requestId: 'Request or trace id',
        fingerprint: 'Fingerprint',
        token: 'Token (its value)',
      },
      shadow: 'Shadow',
      anyShadow: 'Whatever it would decide',
      userHint: 'Without an account, the user is looked for by the id. A name needs its account.',
      more: 'More fields',
      zone: (zone: string) => `Times are those of your time zone, ${zone}.`,
      tokenHint: 'The value of a token is sent once, becomes a fingerprint, and is kept nowhere.',
      find: 'Search',
      clear: 'Clear',
      empty: 'No decision matches.',
      user: 'User',
      client: 'Client',
      damaged: (count: number) =>
        `${counted(count, 'line', 'lines')} could not be read: damaged, cut, or of something else.`,
      unreadable: (files: readonly string[]) => `Not searched to the end: ${files.join(', ')}.`,
      off: 'No file of this host has the decisions',
      offAbout:
        'A search needs the decision log as a file. Switch it on in the configuration, and start the sidecar again:',
      rules: { same: 'the same as now', other: 'others than now' },
      unknown: (why: string) => `Not known: ${why}.`,
      now: ({
        same,
        allowed,
        reason,
        message,
      }: {
        readonly same: boolean
        readonly allowed: boolean
        readonly reason: string
        readonly message?: string
      }) => (same ? 'decide the same' : `${allowed ? 'allow' : 'deny'}: ${reason}. ${message ?? ''}`.trim()),
    },
    strict: 'strict',
    resolved: 'as resolved',
    microseconds: (count: number) => `${count.toLocaleString('en')} µs`,
    ofHundred: (percent: number) => `${percent} of 100 like it have a line`,
    project: (account: string, project: string) => `${account}, project ${project}`,
  },

  matrix: {
    title: 'Matrix',
    about: 'Which matrix decides, what another one would have decided, and how one replaces the other.',
    readAt: (time: string) => `As of ${time}`,
    refresh: 'Refresh',
    inForce: 'In force',
    digest: 'Digest',
    from: 'Comes from',
    promoted: 'A promotion',
    configured: 'The configuration',
    configuredDigest: 'In the configuration',
    by: 'By',
    when: 'When',
    why: 'Why',
    behind:
      'Another matrix was put in force, and this process does not have it yet. If that lasts, its log has the reason.',
    replaced:
      'Nothing was changed. Another matrix is in force, or is the shadow, than the one that you looked at. This page shows the current ones: look at what changes now, and try again.',

    shadow: 'Shadow',
    shadowAbout: 'It is computed beside the matrix in force, and decides nothing.',
    since: 'Compared since',
    compared: 'Compared',
    decisions: (count: number) => counted(count, 'decision', 'decisions'),
    differing: 'Would differ',
    ofOne:
      'These counts are of the process that answers you. For all processes, see the increase of the metric `portcullis_shadow_differences_total`.',
    same: 'The shadow is the matrix in force, so there is nothing to promote.',
    none: 'There is no shadow. Name the next matrix in the configuration to see what it would change before it decides:',
    noneTitle: 'portcullis.yaml',
    noneConfig: 'matrix_shadow: next-matrix.json\n',

    groups: {
      title: 'Decisions that would differ',
      none: 'No decision would have been another one so far.',
      names: { opened: 'Would open', closed: 'Would close', unknown: 'Unknown' },
      hints: {
        opened: 'Denied, and the shadow allows it.',
        closed: 'Allowed, and the shadow denies it.',
        unknown:
          'It cannot be said what the shadow would have decided: it looks for another credential, or would have this one verified in another way.',
      },
      api: 'API',
      kind: 'Kind of token',
      noKind: 'not known',
      count: 'How often',
      accounts: 'Accounts',
      account: (account: string, count: number) => `${account} (${count.toLocaleString('en')})`,
      others: (count: number) => `others or none (${count.toLocaleString('en')})`,
      more: (count: number) => `and ${count.toLocaleString('en')} more`,
      showMore: (count: number) => `Show ${count.toLocaleString('en')} more`,
      first: 'First',
      last: 'Last',
      search: (api: string, difference: string) => `Past decisions about ${api}: ${difference.toLowerCase()}`,
      beyond: (count: number) =>
        `${counted(count, 'more decision is', 'more decisions are')} in cells that have no row.`,
    },

    cells: {
      title: 'What changes',
      sides: {
        before: 'Now',
        after: 'Shadow',
        hints: {
          opened: 'Denied now, and the shadow allows it.',
          closed: 'Allowed now, and the shadow denies it.',
        },
      },
      comparing: 'The matrices are being compared.',
      notCompared: 'The matrices could not be compared.',
      replaced: 'the matrix in force or its shadow is another one now',
    },

    versions: {
      title: 'Matrices put in force',
      none: 'No matrix was promoted yet.',
      matrix: 'Matrix',
      action: 'What',
      actions: { promoted: 'Promoted', rolled_back: 'Rolled back', replaced: 'Replaced' } as Readonly<
        Record<string, string>
      >,
      configurations: 'Those of the configurations',
    },

    reason: 'Reason',
    reasonHint: 'For the audit trail and the list of matrices.',
    command: 'The same on the command line',
    everywhere: 'It decides at once in this process, and in every other one of the directory within seconds.',

    confirm: {
      opened: 'Cells that open',
      openedDiffers: (count: number) =>
        `Expected ${count.toLocaleString('en')}, the number of cells that open.`,
      loosened: 'Facts of kinds that are loosened or changed',
      loosenedDiffers: (count: number) =>
        `Expected ${count.toLocaleString('en')}, the number of facts that are loosened or changed.`,
      type: (what: string) => `Type ${what} to confirm.`,
      unseen: 'Without seeing what opens',
      unseenWord: 'unseen',
      unseenDiffers: 'Expected the word unseen.',
      comparing: 'Wait until the matrices are compared.',
    },

    promote: {
      open: 'Promote…',
      title: 'Promote the shadow',
      button: 'Promote',
      compared: (compared: number, differing: number) =>
        `So far ${counted(compared, 'decision was', 'decisions were')} compared, and ${differing.toLocaleString('en')} would have been others.`,
      done: 'The shadow is in force now.',
    },

    rollBack: {
      open: 'Roll back…',
      title: 'Roll back the matrix',
      button: 'Roll back',
      to: 'To',
      version: (digest: string, when: string) => `${digest}, ${when}`,
      unknown:
        'That matrix could not be read, so this page cannot say what opens. `portcullis matrix diff` compares two files.',
      done: 'The earlier matrix is in force again.',
    },
  },
}
