/** `portcullis matrix init`: begins a matrix file, which is valid at once. */
import type { Command } from 'commander'
import { addHelpParts } from '../../terminal/help.ts'
import { collect, print, printJson } from '../../terminal/output.ts'
import { forTerminal, type Terminal } from '../../terminal/terminal.ts'

interface InitOptions {
  readonly title?: string
  readonly kind?: string
  readonly header?: string
  readonly scheme?: string
  readonly prefix?: string
  readonly api?: string[]
  readonly json?: boolean
}

export function addMatrixInitCommand(matrix: Command, terminal: Terminal): void {
  const command = matrix
    .command('init')
    .description(
      'Begin a matrix file, with its schema beside it. On a terminal it asks for what is not given.',
    )
    .argument('[file]', 'file to make; YAML where its name ends in .yaml', 'matrix.jsonc')
    .option('--title <title>', 'what the matrix is called')
    .option('--kind <name>', 'id of the first kind of token')
    .option('--header <name>', 'request header that carries it')
    .option('--scheme <scheme>', 'authentication scheme before it, for example Bearer')
    .option('--prefix <prefix>', 'what every token of the kind begins with')
    .option('--api <name>', 'id of an API that the kind opens; may be repeated', collect)
    .option('--json', 'print the answer, or the error, as one line of JSON')
  addHelpParts(command, {
    examples: ['matrix init', 'matrix init matrix.yaml --kind api_key --header X-Api-Key --api orders'],
    notes: ['No file is overwritten, but for an older schema.'],
  }).action(async (file: string, options: InitOptions) => {
    const { writeNewMatrix } = await import('./init-file.ts')
    const asked = terminal.interactive && !options.json
    const answer = async (given: string | undefined, question: string, otherwise: string) => {
      if (given !== undefined || !asked) return given ?? otherwise
      const typed = (await terminal.ask(forTerminal(`${question} [${otherwise}] `))).trim()
      return typed === '' ? otherwise : typed
    }
    const title = await answer(options.title, 'What is the matrix called?', 'Our APIs')
    const kind = await answer(options.kind, 'Which kind of token is there? (id)', 'api_key')
    const header = await answer(options.header, 'Which header carries it?', 'X-Api-Key')
    const scheme = await answer(
      options.scheme,
      'Which scheme stands before the token? (or none)',
      schemeFor(header, asked),
    )
    const apis = (
      await answer(options.api?.join(' '), 'Which APIs does it open? (ids, with spaces)', 'orders')
    ).split(/\s+/)
    const schema = writeNewMatrix(file, {
      ...{ title, kind, header, prefix: options.prefix },
      apis: apis.map((api) => ({ id: api, title: api })),
      scheme: scheme === NO_SCHEME ? undefined : scheme,
    })
    if (options.json) printJson({ file, schema })
    else print(`${file}: a matrix with ${kind} and ${apis.join(', ')}; ${schema} describes it to editors`)
  })
}

/** The answer that stands for no scheme. */
const NO_SCHEME = 'none'

/** A person who is asked most likely means this one. A script has the scheme that it gives. */
function schemeFor(header: string, asked: boolean): string {
  return asked && header.toLowerCase() === 'authorization' ? 'Bearer' : NO_SCHEME
}
