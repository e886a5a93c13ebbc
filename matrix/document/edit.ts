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

/** The items of a list, the members of an object, or the key and the value of a member. */
const partsOf = (node: Node): readonly Node[] => node.children as Node[]

const endOf = ({ offset, length }: Node): number => offset + length

export const eolOf = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n')

function appendedJson(text: string, path: DocumentPath, value: unknown): string {
  const root = rootOf(text)
  const list = findNodeAtLocation(root, [...path])
  const member = (indent: string) =>
    `${JSON.stringify(path.at(-1))}: [\n${indent}  ${rowText(value, `${indent}  `)}\n${indent}]`
  if (list === undefined) return appendedTo(text, root, member)
  if (partsOf(list).length > 0) return appendedTo(text, list, (indent) => rowText(value, indent))
  const indent = indentAt(text, list.offset)
  const isRow = typeof value === 'object'
  const item = isRow
    ? `[\n${indent}  ${rowText(value, `${indent}  `)}\n${indent}]`
    : `[${JSON.stringify(value)}]`
  return spliced(text, list.offset, endOf(list), item.replaceAll('\n', eolOf(text)))
}

/** The rest of a line, with the whole of a comment that goes on in the next one. */
const LINE = /(?:(?:\/\/|#)[^\r\n]*|\/\*[\s\S]*?\*\/|[^\r\n])*/

/** White space and comments, then a comma. */
const COMMA = /^(?:\s|\/\*[\s\S]*?\*\/|(?:\/\/|#)[^\n]*\n)*,/

function withValue(text: string, path: DocumentPath, value: unknown): string {
  const root = rootOf(text)
  const node = findNodeAtLocation(root, [...path])
  const written = (indent: string) => rowText(value, indent).replaceAll('\n', eolOf(text))
  if (node !== undefined) return spliced(text, node.offset, endOf(node), written(indentAt(text, node.offset)))
  const object = findNodeAtLocation(root, path.slice(0, -1)) as Node
  return appendedTo(text, object, (indent) => `${JSON.stringify(path.at(-1))}: ${rowText(value, indent)}`)
}

/** The comments of the other items stay. */
function without(text: string, path: DocumentPath): string {
  const list = findNodeAtLocation(rootOf(text), path.slice(0, -1)) as Node
  const [items, which] = [partsOf(list), path.at(-1)]
  const index =
    typeof which === 'number'
      ? which
      : items.findIndex((member) => (partsOf(member)[0] as Node).value === which)
  const [before, item, next] = [items[index - 1], items[index] as Node, items[index + 1]]
  if (next !== undefined) return withoutLines(text, item, next)
  if (before === undefined)
    return spliced(text, list.offset, endOf(list), list.type === 'object' ? '{}' : '[]')
  const [from, end] = [endOf(before), endOf(item)]
  const between = text.slice(from, item.offset)
  const comma = COMMA.exec(text.slice(end, endOf(list)))?.[0]
  // A comma behind the last item stays one behind the last item.
  const kept = comma === undefined ? between.replace(COMMA, (found) => found.slice(0, -1)) : between
  const to = end + (comma?.length ?? 0)
  // A comment that goes to the end of its line takes nothing with it but another one.
  const isOpen = /\/\/[^\n]*$/.test(kept.trimEnd()) && !/^[ \t]*(?:\/\/[^\n]*|\r?)\n/.test(text.slice(to))
  return spliced(text, from, to, `${kept.trimEnd()}${isOpen ? eolOf(text) : ''}`)
}

/** Without an item that another one follows: a comment above that one is about it, and stays. */
function withoutLines(text: string, item: Node, next: Node): string {
  const lineStart = lineStartOf(text, item.offset)
  const end = endOf(item)
  const rest = /^[ \t]*,[^\n]*\n/.exec(text.slice(end, next.offset))?.[0]
  const isAlone = text.slice(lineStart, item.offset).trim() === ''
  // A comment that goes on in the next line is not cut in two.
  if (isAlone && rest !== undefined && !/\/\*(?!.*\*\/)/.test(rest))
    return spliced(text, lineStart, end + rest.length, '')
  return spliced(text, item.offset, next.offset, '')
}

/** Appends to a list or an object that has something already. */
function appendedTo(text: string, node: Node, row: (indent: string) => string): string {
  const parts = partsOf(node)
  const [first, last] = [parts[0] as Node, parts.at(-1) as Node]
  return appendedAfter(text, {
    ...{ start: node.offset, first: first.offset, after: endOf(last), end: endOf(node) - 1, row },
  })
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

/** Appends to a list in brackets, in its line or in a separate line as its items are. */
export function appendedAfter(text: string, { start, first, after, end, row }: Appending): string {
  const rest = text.slice(after, end)
  const comma = COMMA.exec(rest)?.[0].length ?? 0
  const written = (indent: string) => row(indent).replaceAll('\n', eolOf(text))
  if (!text.slice(start, first).includes('\n')) return spliced(text, after, after, `, ${written('')}`)
  const indent = indentAt(text, first)
  // Behind the comma and the comments of the last item, which stay with it.
  const length = comma + (LINE.exec(rest.slice(comma)) as RegExpExecArray)[0].length
  const line = `${eolOf(text)}${indent}${written(indent)}`
  const at = after + (length < rest.length ? length : comma)
  const [separated, ending] = comma > 0 ? ['', ','] : [',', '']
  return `${text.slice(0, after)}${separated}${text.slice(after, at)}${line}${ending}${text.slice(at)}`
}

/** A row as JSON: in one line where it fits. */
export function rowText(value: unknown, indent: string): string {
  const line = lineText(value)
  if (line.length + indent.length <= LINE_MAX || typeof value !== 'object') return line
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const members = membersOf(value as object).map((member) => `${indent}  ${member}`)
  return `${open}\n${members.join(',\n')}\n${indent}${close}`
}

function lineText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = membersOf(value).join(', ')
  if (Array.isArray(value)) return `[${members}]`
  return members === '' ? '{}' : `{ ${members} }`
}

/** The items of a list, or the members of an object. */
function membersOf(value: object): string[] {
  if (Array.isArray(value)) return value.map(lineText)
  return Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${lineText(each)}`)
}

export const lineStartOf = (text: string, offset: number): number => text.lastIndexOf('\n', offset - 1) + 1

/** The white space that the line of an offset begins with. */
export function indentAt(text: string, offset: number): string {
  const line = text.slice(lineStartOf(text, offset))
  return line.slice(0, line.search(/[^ \t]/))
}

export function spliced(text: string, from: number, to: number, inserted: string): string {
  return text.slice(0, from) + inserted + text.slice(to)
}
