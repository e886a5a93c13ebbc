/** `portcullis matrix add`, `accept`, `reject`, `resolve` and `rename`: edit a matrix file in place. */
import type { Command } from 'commander'
import type { Api, Claim, Place, Statement, TokenKind } from '../../../../engine/index.ts'
import { placeFrom } from '../../../../engine/places.ts'
import type { MatrixEdit } from '../../../../matrix/edits.ts'
import { kindRow } from '../../../../matrix/new-matrix.ts'
import { usageError } from '../../terminal/errors.ts'
import { addHelpParts } from '../../terminal/help.ts'
import { collect } from '../../terminal/output.ts'
import type { EditOptions as FileOptions } from './edited-file.ts'

/** Without the file, until it is looked at. */
type EditOptions = Omit<FileOptions, 'matrix'> & { readonly matrix?: string }

const NOTE =
  'Layout and comments stay. A result that is not valid is not written. Conflicts that no longer follow are removed, and those that the edit causes need --table or --prose, and --reason.'

export function addMatrixEditCommands(matrix: Command): void {
  for (const verb of ['accept', 'reject'] as const) {
    const command = matrix
      .command(verb)
      .description(
        verb === 'accept' ? 'Let an API accept a kind of token.' : 'Let an API no longer accept a kind.',
      )
      .argument('<api>', 'id of the API')
      .argument('<kind>', 'id of the kind of token')
    addEditing(command, `matrix ${verb} orders api_key --matrix matrix.yaml`).action(
      (api: string, kind: string, options: EditOptions) => editWith(options, { type: verb, api, kind }),
    )
  }
  const rename = matrix
    .command('rename')
    .description('Give an API another id, wherever it stands.')
    .argument('<api>', 'id of the API')
    .argument('<name>', 'the new id')
  addEditing(rename, 'matrix rename orders purchases --matrix matrix.yaml').action(
    (api: string, to: string, options: EditOptions) =>
      editWith(options, { type: 'rename', part: 'apis', id: api, to }),
  )
  const resolve = matrix
    .command('resolve')
    .description('Say how a conflict is resolved, and why. One that is not declared yet is declared.')
    .argument('<conflict>', 'id of the conflict')
  addEditing(
    resolve,
    'matrix resolve orders-api_key-omission --table --reason newer --matrix matrix.yaml',
  ).action(async (conflict: string, options: EditOptions) => {
    const { resolutionOf } = await import('./edited-file.ts')
    const resolution = resolutionOf(options)
    if (resolution === undefined) throw usageError('expected --table or --prose, and --reason')
    await editWith(options, { type: 'resolve', conflict, ...resolution })
  })
  addAddCommands(matrix)
}

interface ApiOptions extends EditOptions {
  readonly title?: string
  readonly section: string
  readonly accepts?: string[]
  readonly public?: true
  readonly note?: string[]
}

interface KindOptions extends EditOptions {
  readonly title?: string
  readonly header: string
  readonly scheme?: string
  readonly prefix?: string
  readonly family?: string
  readonly scopeLevel: 'account' | 'project'
  readonly issuedTo: string
  readonly obtainedBy: TokenKind['obtained']['by']
  readonly place?: string[]
  readonly link?: string
  readonly section: string
}

interface StatementOptions extends EditOptions {
  readonly section?: string
  readonly text?: string
  readonly claim?: string
}

function addAddCommands(matrix: Command): void {
  const add = addHelpParts(matrix.command('add').description('Add a row to a matrix file.'), {
    examples: ['matrix add api refunds --accepts api_key --matrix matrix.yaml'],
  })
  const api = add
    .command('api')
    .description('Add an API.')
    .argument('<name>', 'id of the API')
    .option('--title <title>', 'what people call it (default: the id)')
    .option('--section <section>', 'where the source says it', 'not stated')
    .option('--accepts <kind>', 'id of a kind of token that opens it; may be repeated', collect)
    .option('--public', 'it needs no token')
    .option('--note <note>', 'what the source says of a cell besides, as KIND=TEXT; may be repeated', collect)
  addEditing(api, 'matrix add api refunds --accepts api_key --matrix matrix.yaml').action(
    (id: string, options: ApiOptions) => {
      const row: Api = {
        id,
        title: options.title ?? id,
        accepts: options.accepts ?? [],
        ...(options.public && { public: true }),
        ...(options.note && { notes: notesOf(options.note) }),
        section: options.section,
      }
      return editWith(options, { type: 'add', part: 'apis', row })
    },
  )
  const kind = addKindOptions(
    add.command('kind').description('Add a kind of token.').argument('<name>', 'id of the kind of token'),
  )
  addEditing(kind, 'matrix add kind day_pass --header X-Day-Pass --matrix matrix.yaml').action(
    (id: string, options: KindOptions) =>
      editWith(options, { type: 'add', part: 'tokenKinds', row: kindOf(id, options) }),
  )
  const statement = add
    .command('statement')
    .description('Add what the prose of the source says.')
    .argument('<name>', 'id of the statement')
    .option('--section <section>', 'where the source says it (required)')
    .option('--text <text>', 'the words of the source (required)')
    .option('--claim <json>', 'what it claims, as JSON: the schema lists the types (required)')
  addEditing(
    statement,
    `matrix add statement most --section 2 --text most --claim '{"type":"most","kind":"api_key"}' --matrix matrix.yaml`,
  ).action((id: string, { section, text, claim, ...options }: StatementOptions) => {
    if (section === undefined || text === undefined || claim === undefined)
      throw usageError('expected --section, --text and --claim')
    const row: Statement = { id, section, text, claim: claimOf(claim) }
    return editWith(options, { type: 'add', part: 'statements', row })
  })
}

/** The options of a kind of token. */
function addKindOptions(command: Command): Command {
  return command
    .option('--title <title>', 'what people call it (default: the id)')
    .option('--header <name>', 'request header that carries it', 'Authorization')
    .option('--scheme <scheme>', 'authentication scheme before it, for example Bearer')
    .option('--prefix <prefix>', 'what every token of the kind begins with')
    .option('--family <family>', 'kinds of one family are distinguished by their scope (default: the id)')
    .option('--scope-level <level>', 'what a token is bound to: account or project', 'account')
    .option('--issued-to <holder>', 'type of its holder', 'user')
    .option('--place <place>', 'in place of these three, one of several places; may be repeated', collect)
    .option('--obtained-by <way>', 'how it is obtained: issue, control_panel or elsewhere', 'issue')
    .option('--link <url>', 'where a person obtains it or reads how')
    .option('--section <section>', 'where the source says it', 'not stated')
}

function kindOf(id: string, { place: texts, link, ...options }: KindOptions): TokenKind {
  const { header, scheme, prefix, obtained, ...kind } = kindRow(id, options)
  const by = { obtained: { ...obtained, ...(link && { link }) } }
  if (texts === undefined)
    return { ...kind, header, ...(scheme && { scheme }), ...(prefix && { prefix }), ...by }
  return { ...kind, places: texts.map(placeOf), ...by }
}

/** The place of an option. Three dots stand for the sign behind a prefix. @throws CommandError */
export function placeOf(text: string): Place {
  const place = placeFrom(text.trim().replace(/\.\.\.(?=$| with )/, '…'))
  if (place === undefined)
    throw usageError(
      '--place: expected a place such as `Authorization: Bearer`, `Authorization: Basic (password)` or `X-Auth-Key with X-Auth-Email`',
    )
  return place
}

function notesOf(notes: readonly string[]): Record<string, string> {
  const pairs = notes.map((note) => /^([^=]+)=(.+)$/.exec(note))
  if (pairs.includes(null)) throw usageError('--note: expected KIND=TEXT, for example api_key=read only')
  return Object.fromEntries(pairs.map((pair) => [pair?.[1], pair?.[2]]))
}

function claimOf(text: string): Claim {
  try {
    return JSON.parse(text) as Claim
  } catch {
    throw usageError('--claim: expected JSON, for example {"type":"most","kind":"api_key"}')
  }
}

function addEditing(command: Command, example: string): Command {
  const edited = command
    .option('--matrix <file>', 'matrix file, which is edited in place (required)')
    .option('--table', 'the table rules conflicts that the edit causes')
    .option('--prose', 'the prose rules conflicts that the edit causes')
    .option('--reason <text>', 'why they are resolved so')
    .option('--dry-run', 'print what the edit opens and closes, and write nothing')
    .option('--json', 'print the answer, or the error, as one line of JSON')
  return addHelpParts(edited, { examples: [example], notes: [NOTE] })
}

async function editWith(options: EditOptions, edit: MatrixEdit): Promise<void> {
  if (options.matrix === undefined) throw usageError('--matrix: expected the path of a file')
  const { editMatrixFile } = await import('./edited-file.ts')
  editMatrixFile({ ...options, matrix: options.matrix }, edit)
}
