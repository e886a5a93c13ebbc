/** Editing the text of a document in one place, so that its layout and its comments stay as they are. */
import { findNodeAtLocation, type Node, parseTree } from 'jsonc-parser'

export type DocumentPath = readonly (string | number)[]

/**
 * One change of a document. A list that is appended to may be absent, at the top; and so may the key that is
 * set. An item of a list or a key is removed.
 */
export type DocumentChange =
  | { readonly type: 'set'; readonly path: DocumentPath; readonly value: unknown }
  | { readonly type: 'append'; readonly path: DocumentPath; readonly value: unknown }
  | { readonly type: 'remove'; readonly path: DocumentPath }

/** Makes a change in a text that its form reads. */
export type Editor = (text: string, change: DocumentChange) => string

/** Longest row that is written in one line. */
const LINE_MAX = 140

/** Changes JSON, with comments or without. */
export function editJson(text: string, change: DocumentChange): string {
  if (change.type === 'append') return appendedJson(text, change.path, change.value)
  if (change.type === 'remove') return without(text, change.path)
  return withValue(text, change.path, change.value)
}

const rootOf = (text: string): Node => parseTree(text, [], { allowTrailingComma: true }) as Node

const eolOf = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n')

function appendedJson(text: string, path: DocumentPath, value: unknown): string {
  const root = rootOf(text)
  const list = findNodeAtLocation(root, [...path])
  if (list === undefined) return withMember(text, root, String(path.at(-1)), value)
  const indent = `${indentAt(text, list.offset)}  `
  const end = list.offset + list.length - 1
  const last = list.children?.at(-1)
  if (last === undefined) {
    const isRow = typeof value === 'object'
    const item = isRow ? `\n${indent}${rowText(value, indent)}\n${indent.slice(2)}` : JSON.stringify(value)
    return spliced(text, list.offset + 1, end, item.replaceAll('\n', eolOf(text)))
  }
  const after = last.offset + last.length
  return appendedAfter(text, {
    first: list.children?.[0]?.offset ?? after,
    after,
    start: list.offset,
    end,
    row: (at) => rowText(value, at),
  })
}

/** White space and comments, then a comma. */
const COMMA = /^(?:\s|\/\*[\s\S]*?\*\/|\/\/[^\n]*|#[^\n]*)*,/

function withValue(text: string, path: DocumentPath, value: unknown): string {
  const root = rootOf(text)
  const node = findNodeAtLocation(root, [...path])
  const written = (indent: string) => rowText(value, indent).replaceAll('\n', eolOf(text))
  if (node !== undefined)
    return spliced(text, node.offset, node.offset + node.length, written(indentAt(text, node.offset)))
  const object = findNodeAtLocation(root, path.slice(0, -1)) as Node
  const [first, last] = [object.children?.[0] as Node, object.children?.at(-1) as Node]
  return appendedAfter(text, {
    start: object.offset,
    first: first.offset,
    after: last.offset + last.length,
    end: object.offset + object.length - 1,
    row: (indent) => `${JSON.stringify(path.at(-1))}: ${written(indent)}`,
  })
}

/** The comments of the other items stay. */
function without(text: string, path: DocumentPath): string {
  const list = findNodeAtLocation(rootOf(text), path.slice(0, -1)) as Node
  const [items, which] = [list.children ?? [], path.at(-1)]
  const index =
    typeof which === 'number' ? which : items.findIndex(({ children }) => children?.[0]?.value === which)
  const [before, item, next] = [items[index - 1], items[index] as Node, items[index + 1]]
  if (next !== undefined) return withoutLines(text, item, next)
  const end = item.offset + item.length
  if (before === undefined) return spliced(text, list.offset, list.offset + list.length, '[]')
  const from = before.offset + before.length
  const between = text.slice(from, item.offset)
  const comma = COMMA.exec(text.slice(end, list.offset + list.length))?.[0]
  // A comma behind the last item stays one behind the last item.
  const kept = comma === undefined ? between.replace(COMMA, (found) => found.slice(0, -1)) : between
  return spliced(text, from, end + (comma?.length ?? 0), kept.trimEnd())
}

/** Without an item that another one follows: what stands above that one is about it, and stays. */
function withoutLines(text: string, item: Node, next: Node): string {
  const lineStart = text.lastIndexOf('\n', item.offset - 1) + 1
  const end = item.offset + item.length
  const rest = /^[ \t]*,[^\n]*\n/.exec(text.slice(end, next.offset))?.[0]
  const isAlone = text.slice(lineStart, item.offset).trim() === ''
  // A comment that goes on in the next line is not cut in two.
  if (isAlone && rest !== undefined && !rest.replaceAll(/\/\*.*?\*\//g, '').includes('/*'))
    return spliced(text, lineStart, end + rest.length, '')
  return spliced(text, item.offset, next.offset, '')
}

interface Appending {
  /** Where the list, its first item and its end are; and the end of the last item. */
  readonly start: number
  readonly first: number
  readonly after: number
  readonly end: number
  /** The item, in a line with this indent. */
  readonly row: (indent: string) => string
}

/** Appends to a list in brackets, in its line or in a line of its own as its items are. */
export function appendedAfter(text: string, { start, first, after, end, row }: Appending): string {
  const rest = text.slice(after, end)
  const comma = COMMA.exec(rest)?.[0]
  if (!text.slice(start, first).includes('\n')) return spliced(text, after, after, `, ${row('')}`)
  const indent = indentAt(text, first)
  // Behind the comment of the last item, which stays with it.
  const lineEnd = after + (/^[^\n]*/.exec(rest)?.[0].replace(/\r$/, '').length ?? 0)
  const line = `${eolOf(text)}${indent}${row(indent)}`.replaceAll(/(?<!\r)\n/g, eolOf(text))
  const at = lineEnd < end ? lineEnd : after
  const separated = comma === undefined ? ',' : ''
  const ending = comma === undefined ? '' : ','
  return `${text.slice(0, after)}${separated}${text.slice(after, at)}${line}${ending}${text.slice(at)}`
}

/** A row as JSON: in one line where it fits. */
export function rowText(value: unknown, indent: string): string {
  const line = lineText(value)
  if (line.length + indent.length <= LINE_MAX || typeof value !== 'object' || value === null) return line
  const members = Object.entries(value).map(
    ([key, each]) => `${indent}  ${JSON.stringify(key)}: ${lineText(each)}`,
  )
  return `{\n${members.join(',\n')}\n${indent}}`
}

function lineText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(lineText).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${lineText(each)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

/** The document with a member more, whose list has one item. */
function withMember(text: string, root: Node, name: string, value: unknown): string {
  const last = root.children?.at(-1)
  const after = last === undefined ? root.offset + 1 : last.offset + last.length
  const member = `"${name}": [\n    ${rowText(value, '    ')}\n  ]`
  const end = root.offset + root.length - 1
  const rest = text.slice(after, end)
  const hasComma = COMMA.test(rest)
  const lineEnd = after + (/^[^\n]*/.exec(rest)?.[0].replace(/\r$/, '').length ?? 0)
  const made = `\n  ${member}${hasComma ? ',' : ''}`.replaceAll('\n', eolOf(text))
  return `${text.slice(0, after)}${hasComma ? '' : ','}${text.slice(after, lineEnd)}${made}${text.slice(lineEnd)}`
}

/** The white space that the line of an offset begins with. */
export function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', offset - 1) + 1))?.[0] ?? ''
}

export function spliced(text: string, from: number, to: number, inserted: string): string {
  return text.slice(0, from) + inserted + text.slice(to)
}
