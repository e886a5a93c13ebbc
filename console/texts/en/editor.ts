/** The texts of the page that edits a matrix, loaded with it. */
import { counted } from './explorer.ts'

const cells = (count: number): string => counted(count, 'cell', 'cells')

export const editorTexts = {
  title: 'Edit',
  about:
    'Change cells, rows and statements, and see at once what opens, closes and contradicts. Nothing leaves this page.',
  from: { page: 'The matrix of this page', file: 'Your file', new: 'Your new matrix' },
  open: 'Open a file',
  begin: 'New matrix',
  undo: 'Undo',
  startOver: 'Start over',
  reading: 'Reading…',

  status: {
    same: 'Opens and closes nothing.',
    counts: (opened: number, closed: number) => `Opens ${cells(opened)}, closes ${cells(closed)}.`,
    facts: (count: number) => `${counted(count, 'fact', 'facts')} of kinds differ.`,
    open: (count: number) => counted(count, 'contradiction to resolve', 'contradictions to resolve'),
    findings: (count: number) => counted(count, 'warning', 'warnings'),
    undone: 'The last step is undone.',
  },

  tooLarge: (apis: string, bytes: string, yamlBytes: string) =>
    `It is too large to edit here: the page edits at most ${apis} APIs, in ${bytes} of JSON or ${yamlBytes} of YAML. The commands “portcullis matrix add”, “accept” and the like edit a file of any size.`,
  noText: 'it is not text in UTF-8.',
  noLink: 'The edits of this link cannot be read. It may have been cut on its way.',
  linkRefused: 'The steps before it were made. This one was refused:',

  table: {
    caption: 'Which API accepts which kind of token',
    search: 'Search APIs',
    cell: (api: string, kind: string, contested: boolean) =>
      `${api}: ${kind}${contested ? ', contested' : ''}`,
    accepted: 'accepted',
    rejected: 'not accepted',
    change: (title: string) => `${title}: change or remove`,
    hint: 'Click a cell to accept or reject a kind of token. Click a name to change or remove its row.',
    addApi: 'Add an API',
    addKind: 'Add a kind of token',
    rename: 'Change the title',
    none: 'No API has these words.',
  },

  statements: {
    title: 'What the text says',
    about: 'Statements of your document. Where one contradicts the table, you see it at once.',
    none: 'There is no statement yet. A matrix needs none.',
    add: 'Add a statement',
    change: (id: string) => `Change ${id}`,
  },

  claims: {
    manages: 'A kind opens these APIs',
    does_not_manage: 'A kind does not open these APIs',
    only_option: 'A kind, and no other, opens these APIs',
    most: 'A kind opens more than half of the APIs',
    bound_to: 'A kind is bound to an account or a project',
    issued_to: 'Kinds are issued to this holder',
    row_repeated: 'The table repeats the row of an API',
    advice: 'Advice to the holder of these kinds',
    remark: 'A remark that no row can contradict',
  },

  form: {
    title: 'Title',
    name: 'Name',
    id: 'Id',
    idHint: 'Small letters and digits, joined by - _ . : or /',
    section: 'Section of your document',
    accepts: 'Opened by',
    open: 'For everyone',
    public: 'needs no token',
    notes: 'Notes, one a line',
    notesHint: 'For example “static_token: read only”. Decisions carry them as advice.',
    kind: 'Kind of token',
    kindHint: 'As in the middle of a sentence, for example: day pass',
    kinds: 'Kinds of token',
    api: 'API',
    apis: 'APIs',
    addApi: 'Add an API',
    removeApi: (title: string) => `Take ${title} off the list`,
    header: 'Request header',
    scheme: 'Scheme before the token, for example Bearer',
    prefix: 'What every token begins with',
    more: 'More about this kind',
    family: 'Family',
    familyHint: 'Kinds of one family are distinguished by what they are bound to',
    scopeLevel: 'Bound to',
    scopeLevels: { account: 'an account', project: 'a project' },
    issuedTo: 'Issued to, as an id',
    obtained: 'Obtained',
    obtainedBy: {
      issue: 'by a request',
      control_panel: 'by a person, in the control panel',
      elsewhere: 'elsewhere',
    },
    steps: 'Steps of the person, one a line',
    link: 'Address of the page that says more',
    places: 'Places, if there are several; one a line',
    placesHint:
      'For example “PRIVATE-TOKEN”, “Authorization: Bearer”, “Authorization: Basic (password)” or “X-Auth-Key with X-Auth-Email”.',
    permissions: 'Permission that it needs',
    permissionScopes: { account: 'for the account', projects: 'for projects' },
    lifetime: 'Lifetime in seconds',
    lifetimeHint: 'Empty: it does not expire',
    words: 'Words of your document',
    claim: 'What it claims',
    complete: 'The list names all of them',
    exclusive: 'And to no other',
    holder: 'Holder, as an id',
    advice: 'Advice',
    optional: 'optional',
    refused: 'This cannot be done:',
    line: (number: number, name: string) => `line ${number} (“${name}”):`,
    add: 'Add',
    save: 'Save',
    remove: 'Remove',
    begin: 'Begin',
    firstKind: 'First kind of token',
    names: 'APIs that it opens, one a line',
    namesHint: 'Their names, for example pasted from your document. Ids are made of them.',
    titles: {
      title: 'Title of the matrix',
      new: 'New matrix',
      addApi: 'Add an API',
      addKind: 'Add a kind of token',
      addStatement: 'Add a statement',
    },
  },

  conflicts: {
    title: 'Contradictions to resolve',
    about: 'The table and the text of your document differ. Say who decides, and why.',
    resolved: 'Resolved contradictions',
    decides: (about: string) => `Who decides about ${about}`,
    who: { table: 'The table', prose: 'The text' },
    reason: (about: string) => `Why (${about})`,
    reasonPlaceholder: 'Why? The reason stands in the file.',
    resolve: 'Resolve',
    missing: 'Choose who decides, and write why.',
  },

  effects: {
    title: 'What changes',
    comparedWith: 'Compared with',
    against: { page: 'The matrix of this page', source: 'What you began with' },
    before: 'Before',
    after: 'After',
    hints: {
      opened: 'Denied before, and allowed after your edits.',
      closed: 'Allowed before, and denied after your edits.',
    },
  },

  findings: { title: 'What the linter finds', place: (line: number) => `line ${line}` },

  take: {
    title: 'Take it along',
    file: (name: string) => `Save ${name}`,
    tests: (name: string) => `Save ${name}`,
    testsHint: 'The tests say what the matrix answers now, so a later change that opens a cell fails them.',
    notYet:
      'Tests can be saved when every contradiction is resolved. The sidecar refuses the matrix until then.',
    link: 'Copy link',
    linkHint: 'The link has your edits behind its #, which browsers send to no server.',
    tooMuch: 'The edits are too many for a link of a matrix of this size. Save the file instead.',
    tooLong: (length: string, max: string) =>
      `The edits are too long for a link: ${length} characters, and at most ${max} arrive whole everywhere. Save the file instead.`,
    commands: 'Test and serve it, in the folder of the files',
  },
}
