/**
 * A matrix that a user edits in the page: the first text, each edit, and its result.
 * The edits are those of the command line.
 */
import { type Conflict, finish, type Matrix, type Steps } from '../../engine/index.ts'
import { type EditTools, editParsed } from '../../matrix/edit-file.ts'
import { type MatrixEdit, missingDeclarations } from '../../matrix/edits.ts'
import type { DocumentForm, Finding, MatrixProblem } from '../../matrix/index.ts'
import { findingsOf } from '../../matrix/lint-file.ts'
import { MatrixError, parseMatrix, placed } from '../../matrix/load.ts'
import { readsBetween } from '../../matrix/write-file.ts'
import { folded } from './search.ts'

/** The source of an edited matrix: the matrix of the page, a file, or a new matrix. */
export interface Source {
  readonly from: 'page' | 'file' | 'new'
  /** The name of the file that is taken along. */
  readonly name: string
  readonly text: string
}

/** The state of the matrix after an edit. */
export interface State {
  readonly text: string
  readonly matrix: Matrix
  /** The findings of the linter, in the order of the text; without contradictions that are not resolved. */
  readonly findings: readonly Finding[]
  /** Contradictions that are not resolved. Their ids are those of the declarations to write. */
  readonly open: readonly Conflict[]
}

export interface Playground {
  readonly source: Source
  readonly tools: EditTools
  /** The edits, step by step. A step may be several edits, and is undone as a whole. */
  readonly steps: readonly (readonly MatrixEdit[])[]
  /** The state at the beginning, and after each step. */
  readonly states: readonly [State, ...State[]]
}

/** The outcome of an edit. Refused: everything is as before. */
export type Outcome =
  | { readonly type: 'edited'; readonly playground: Playground }
  | { readonly type: 'unchanged' }
  | { readonly type: 'refused'; readonly problems: readonly MatrixProblem[] }

/** Most APIs of a matrix that is edited in the page. Each edit reads the whole text again. */
export const EDITED_APIS_MAX = 2_000

/** Longest text that is edited, in bytes. The parser of YAML takes some twenty times as long. */
export const EDITED_BYTES_MAX: Readonly<Record<DocumentForm['id'], number>> = {
  json: 512 * 1024,
  jsonc: 512 * 1024,
  yaml: 64 * 1024,
}

/**
 * Begins with a text.
 *
 * @throws MatrixError with the place of each problem, where the text is not valid. Contradictions that are
 * not resolved may be there
 */
export function begun(source: Source, tools: EditTools): Playground {
  const state = stateOf(source.text, parseMatrix(source.text, tools.form), tools)
  const faults = state.findings.filter(({ severity }) => severity === 'error')
  if (faults.length > 0) throw new MatrixError(faults, source.name)
  return { source, tools, steps: [], states: [state] }
}

/**
 * As {@link begun}, within the limits of the page.
 *
 * @returns `undefined`: it is too large to edit
 */
export function begunWithin(source: Source, tools: EditTools): Playground | undefined {
  if (new TextEncoder().encode(source.text).length > EDITED_BYTES_MAX[tools.form.id]) return undefined
  const playground = begun(source, tools)
  return current(playground).matrix.apis.length > EDITED_APIS_MAX ? undefined : playground
}

/** The state that is shown. */
export function current({ states }: Playground): State {
  return states.at(-1) as State
}

/** Makes a step of some edits. */
export function edited(playground: Playground, edits: readonly MatrixEdit[]): Outcome {
  return finish(editedInSteps(playground, edits))
}

function* editedInSteps(playground: Playground, edits: readonly MatrixEdit[]): Steps<Outcome> {
  const { tools, steps, states } = playground
  const before = current(playground)
  try {
    let from: Pick<State, 'text' | 'matrix'> = before
    for (const edit of edits) {
      from = editParsed(from, tools, edit)
      yield
    }
    const { text, matrix } = from
    if (text === before.text) return { type: 'unchanged' }
    const state = stateOf(text, matrix, tools)
    const after = { ...playground, steps: [...steps, edits], states: [...states, state] } as const
    return { type: 'edited', playground: after }
  } catch (error) {
    if (!(error instanceof MatrixError)) throw error
    return { type: 'refused', problems: error.problems }
  }
}

/** As before the last step. At the beginning: as it is. */
export function undone(playground: Playground): Playground {
  const [first, ...later] = playground.states
  return {
    ...playground,
    steps: playground.steps.slice(0, -1),
    states: [first, ...later.slice(0, -1)],
  }
}

/**
 * Most text that the edits of a link read, in bytes of JSON: some seconds of work. Each edit reads the whole
 * text again, and a link is a stranger's: in 8,000 characters it can have 10,000 edits.
 */
export const REPLAYED_BYTES_MAX = 8 * 1024 * 1024

/** How much longer the parser of YAML takes. */
const YAML_FACTOR = 20

/** The amount that the edits of a step read, in bytes of JSON. */
function readBy(edits: readonly MatrixEdit[], { text, matrix }: State, { form }: EditTools): number {
  const reads = edits.reduce(
    (sum, edit) => sum + (edit.type === 'document' ? readsBetween(matrix, edit.matrix) : 1),
    0,
  )
  return reads * text.length * (form.id === 'yaml' ? YAML_FACTOR : 1)
}

/** Whether others can make these steps of a link. */
export function isReplayable({ steps, states, tools }: Playground): boolean {
  const read = steps.reduce((sum, edits, index) => sum + readBy(edits, states[index] as State, tools), 0)
  return read <= REPLAYED_BYTES_MAX
}

/**
 * Makes the steps of another user. The first one that is refused is the last one, and so is the first one
 * that would make them read too much.
 */
export function* replayed(
  from: Playground,
  steps: readonly (readonly MatrixEdit[])[],
): Steps<{ readonly playground: Playground; readonly refused: readonly MatrixProblem[] }> {
  let playground = from
  let left = REPLAYED_BYTES_MAX
  for (const step of steps) {
    left -= readBy(step, current(playground), playground.tools)
    if (left < 0) return { playground, refused: [TOO_MUCH] }
    const outcome = yield* editedInSteps(playground, step)
    if (outcome.type === 'refused') return { playground, refused: outcome.problems }
    if (outcome.type === 'edited') playground = outcome.playground
    yield
  }
  return { playground, refused: [] }
}

const TOO_MUCH: MatrixProblem = {
  path: '',
  expected: `expected edits of a link that read at most ${REPLAYED_BYTES_MAX / 1024 ** 2} MiB: each reads the whole text`,
}

function stateOf(text: string, matrix: Matrix, { form }: EditTools): State {
  const { problems, warnings } = findingsOf(matrix, (found) => placed(found, text, form))
  return {
    ...{ text, matrix, open: missingDeclarations(matrix) },
    findings: [...problems.filter(({ code }) => code !== 'undeclared-conflict'), ...warnings],
  }
}

const ID_LENGTH_MAX = 128

/** An id that a title suggests; empty where it has no letter to begin with. */
export function idFrom(title: string, between: '-' | '_'): string {
  return folded(title)
    .replace(/[^a-z0-9]+/g, between)
    .replace(/^[^a-z]+/, '')
    .slice(0, ID_LENGTH_MAX)
    .replace(/[-_]$/, '')
}

/** The name of the tests that are saved beside a matrix file. */
export function testsName(name: string): string {
  return `${name.replace(/\.(jsonc?|ya?ml)$/i, '')}.policy-tests.yaml`
}
