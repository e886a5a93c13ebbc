/**
 * Edits as a part of a link. It stands after `#`, which browsers send to no server. The content of a link
 * comes from a stranger, so its form and its size are checked before anything is done with it.
 */
import type { MatrixEdit, MatrixPart } from '../../matrix/edits.ts'
import { formOfName } from '../../matrix/load.ts'
import type { Playground, Source } from './playground.ts'

/** Longest text that edits of a link are read to: a few bytes can stand for a gigabyte. */
const READ_BYTES_MAX = 1024 * 1024

/** Most steps that are read. */
const STEPS_MAX = 1_000

/** Most edits that are read in a step, which the page makes in one go. A form asks for two. */
const STEP_EDITS_MAX = 10

/** Names of files that a link carries: they are shown, and stand in commands, where none may be an option. */
const NAME = /^[\p{L}\p{N}_][\p{L}\p{M}\p{N}_ .,()+'&@-]{0,99}$/u

/** The content of a link. */
export interface Carried {
  /** `undefined`: the edits are those of the matrix that the page shows. */
  readonly source: Source | undefined
  readonly steps: readonly (readonly MatrixEdit[])[]
}

/** The edits as a part of a link, whatever its length. */
export async function packed({ source, steps }: Pick<Playground, 'source' | 'steps'>): Promise<string> {
  const { from, name, text } = source
  const named = { from, name: NAME.test(name) ? name : `matrix.${formOfName(name)}`, text }
  const carried = { ...(from !== 'page' && { source: named }), steps }
  const bytes = await through(
    new TextEncoder().encode(JSON.stringify(carried)),
    new CompressionStream('deflate-raw'),
    Number.POSITIVE_INFINITY,
  )
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** Reads the edits of a link. @returns `undefined`: they are not edits */
export async function unpacked(text: string): Promise<Carried | undefined> {
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) =>
      character.charCodeAt(0),
    )
    const json = await through(bytes, new DecompressionStream('deflate-raw'), READ_BYTES_MAX)
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(json))
    return carriedOf(value)
  } catch {
    return undefined
  }
}

/** @throws RangeError where more comes out than that */
async function through(
  bytes: Uint8Array<ArrayBuffer>,
  stream: CompressionStream | DecompressionStream,
  bytesMax: number,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let length = 0
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader()
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    length += read.value.length
    if (length > bytesMax) {
      await reader.cancel()
      throw new RangeError(`expected at most ${bytesMax} bytes`)
    }
    parts.push(read.value)
  }
  const whole = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

function carriedOf(value: unknown): Carried | undefined {
  const { source, steps } = recordOf(value)
  if (!Array.isArray(steps) || steps.length > STEPS_MAX) return undefined
  if (!steps.every(isStep)) return undefined
  const from = source === undefined ? undefined : sourceOf(recordOf(source))
  return from === null ? undefined : { source: from, steps: steps as Carried['steps'] }
}

/** @returns `null`: it is not one */
function sourceOf({ from, name, text }: Readonly<Record<string, unknown>>): Source | null {
  if ((from !== 'file' && from !== 'new') || !isText(name) || !isText(text)) return null
  return NAME.test(name) ? { from, name, text } : null
}

const isStep = (step: unknown): boolean =>
  Array.isArray(step) && step.length <= STEP_EDITS_MAX && step.every(isEdit)

const PARTS: readonly MatrixPart[] = ['apis', 'tokenKinds', 'statements']

/** Whether the form is right. The schema of the matrix judges the values. */
function isEdit(value: unknown): boolean {
  const edit = recordOf(value)
  const hasPart = PARTS.some((part) => part === edit.part)
  switch (edit.type) {
    case 'title':
      return isText(edit.title)
    case 'add':
    case 'change':
      return hasPart && isText(recordOf(edit.row).id)
    case 'remove':
      return hasPart && isText(edit.id)
    case 'rename':
      return hasPart && isText(edit.id) && isText(edit.to)
    case 'accept':
    case 'reject':
      return isText(edit.api) && isText(edit.kind)
    case 'resolve':
      return (
        isText(edit.conflict) &&
        isText(edit.reason) &&
        (edit.resolution === 'table' || edit.resolution === 'prose')
      )
    case 'document':
      return isMatrix(recordOf(edit.matrix))
    default:
      return false
  }
}

const LISTS = [...PARTS, 'conflicts'] as const

const isMatrix = (matrix: Readonly<Record<string, unknown>>): boolean =>
  LISTS.every((list) => {
    const rows = matrix[list]
    return Array.isArray(rows) && rows.every((row) => isText(recordOf(row).id))
  })

const isText = (value: unknown): value is string => typeof value === 'string'

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
