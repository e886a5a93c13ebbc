/** Editing YAML in one place: the rest of the text is not written again, so its layout stays as it is. */
import type { ParsedNode, Scalar, YAMLMap, YAMLSeq } from 'yaml'
import {
  appendedAfter,
  type DocumentChange,
  type DocumentPath,
  type Editor,
  eolOf,
  indentAt,
  lineStartOf,
  spliced,
} from './edit.ts'
import { YAML_OPTIONS, type YamlLibrary } from './yaml.ts'

/** Changes YAML. */
export function yamlEditor(library: YamlLibrary): Editor {
  return (text, change) => {
    const { contents } = library.parseDocument(text, YAML_OPTIONS)
    const root = contents as ParsedNode
    if (change.type === 'append') return appended(library, text, root, change)
    const container = nodeAt(library, root, change.path.slice(0, -1))
    const last = change.path.at(-1) as string | number
    if (change.type === 'remove') {
      if (library.isMap(container)) return withoutKey(text, container as MapNode, String(last))
      const list = container as ListNode
      const parent = nodeAt(library, root, change.path.slice(0, -2))
      // An empty block would not be a list.
      if (list.items.length === 1 && library.isMap(parent))
        return withValue(text, parent as MapNode, String(change.path.at(-2)), [])
      return without(text, list, last as number)
    }
    if (library.isMap(container)) return withValue(text, container as MapNode, String(last), change.value)
    const [from, to] = ((container as ListNode).items[last as number] as ParsedNode).range
    return spliced(text, from, to, flowText(change.value))
  }
}

type MapNode = YAMLMap.Parsed<Scalar.Parsed, ParsedNode | null>
type ListNode = YAMLSeq.Parsed<ParsedNode>
/** How long the rest of a line is, without its end. */
const lineLength = (text: string): number => text.search(/\r?\n|$/)

type Range = readonly [start: number, end: number, ...unknown[]]

/** Where the text of a node ends, without the line end that a block has. */
const endOf = (text: string, [start, end]: Range): number => start + text.slice(start, end).trimEnd().length

/** Where the text of a pair ends: `{ a }` has a key without a value. */
const pairEndOf = (text: string, { key, value }: MapNode['items'][number]): number =>
  endOf(text, (value ?? key).range)

function pairOf(map: MapNode, key: string): number {
  return map.items.findIndex((pair) => pair.key.value === key)
}

/** A value that is a block goes, and the one that takes its place is written in the line of its key. */
function withValue(text: string, map: MapNode, key: string, value: unknown): string {
  const pair = map.items[pairOf(map, key)]
  if (pair === undefined) return withKey(text, map, key, value)
  const keyEnd = pair.key.range[1]
  if (pair.value === null) return spliced(text, keyEnd, keyEnd, `: ${flowText(value)}`)
  const colon = text.indexOf(':', keyEnd)
  const [start, end] = [pair.value.range[0], endOf(text, pair.value.range)]
  const between = text.slice(colon + 1, start)
  if (start > colon + 1 && !between.includes('\n')) return spliced(text, start, end, flowText(value))
  return `${text.slice(0, colon + 1)} ${flowText(value)}${between.trimEnd()}${text.slice(end)}`
}

function withKey(text: string, map: MapNode, key: string, value: unknown): string {
  const [first, last] = [
    map.items[0] as MapNode['items'][number],
    map.items.at(-1) as MapNode['items'][number],
  ]
  const from = first.key.range[0]
  const written = `${key}: ${flowText(value)}`
  const after = pairEndOf(text, last)
  if (map.flow) {
    const [start, end] = map.range
    return appendedAfter(text, { start, first: from, after, end: end - 1, row: () => written })
  }
  const at = after + lineLength(text.slice(after))
  return spliced(text, at, at, `${eolOf(text)}${' '.repeat(from - lineStartOf(text, from))}${written}`)
}

function withoutKey(text: string, map: MapNode, key: string): string {
  const index = pairOf(map, key)
  const [before, pair, next] = [
    map.items[index - 1],
    map.items[index] as MapNode['items'][number],
    map.items[index + 1],
  ]
  const from = pair.key.range[0]
  const end = pairEndOf(text, pair)
  if (map.flow || before === undefined) {
    if (next !== undefined) return spliced(text, from, next.key.range[0], '')
    // An empty block would not be a map.
    if (before === undefined) return spliced(text, map.range[0], endOf(text, map.range), '{}')
    return spliced(text, pairEndOf(text, before), end, '')
  }
  return withoutLines(text, from, end)
}

/** Without the lines that a part of a text begins and ends in. */
function withoutLines(text: string, from: number, end: number): string {
  return text.slice(0, lineStartOf(text, from)) + text.slice(end).replace(/[^\n]*\n?/, '')
}
/** All keys are scalars: other texts are not read. */
function nodeAt(library: YamlLibrary, root: ParsedNode, path: DocumentPath): ParsedNode | undefined {
  let node: ParsedNode | null | undefined = root
  for (const segment of path)
    node = library.isSeq(node)
      ? (node as ListNode).items[segment as number]
      : (node as MapNode).items.find(({ key }) => key.value === segment)?.value
  return node ?? undefined
}

/** A text that can stand without quotes stands without. */
function scalarText(value: string): string {
  const isPlain = /^[a-z][a-z0-9_-]*$/.test(value) && !/^(true|false|null|yes|no|on|off)$/.test(value)
  return isPlain ? value : JSON.stringify(value)
}

function appended(
  library: YamlLibrary,
  text: string,
  root: ParsedNode,
  { path, value }: Extract<DocumentChange, { type: 'append' }>,
): string {
  const eol = eolOf(text)
  const item = (indent: string) => yamlItem(value, indent).replaceAll('\n', eol)
  const list = nodeAt(library, root, path) as ListNode | undefined
  if (list === undefined) {
    const begun = text.endsWith('\n') ? text : `${text}${eol}`
    return `${begun}${String(path.at(-1))}:${eol}${item('  ')}${eol}`
  }
  const [start, end] = list.range
  const [first] = list.items
  if (first === undefined) {
    if (typeof value !== 'object' || (root as MapNode).flow)
      return spliced(text, start, end, `[${flowText(value)}]`)
    const indent = `${indentAt(text, start)}  `
    return `${text.slice(0, start).trimEnd()}${eol}${item(indent)}${text.slice(end)}`
  }
  const last = list.items.at(-1) as ParsedNode
  const after = last.range[1]
  if (list.flow)
    return appendedAfter(text, {
      ...{ start, first: first.range[0], after, end: end - 1, row: () => flowText(value) },
    })
  // Behind the last line of the last item, with the comment on it.
  const at =
    text[after - 1] === '\n' ? text.slice(0, after).search(/\r?\n$/) : after + lineLength(text.slice(after))
  return spliced(text, at, at, `${eol}${item(indentAt(text, dashBefore(text, last.range[0])))}`)
}

/** Where the dash of an item is. */
function dashBefore(text: string, offset: number): number {
  return text.lastIndexOf('-', offset)
}

/** An item of a block, with its dash: a text or a row. The rows of a row are written in one line. */
export function yamlItem(value: unknown, indent: string): string {
  if (typeof value !== 'object') return `${indent}- ${scalarText(String(value))}`
  const members = Object.entries(value as object).map(([key, each]) => `${key}: ${flowText(each)}`)
  return `${indent}- ${members.join(`\n${indent}  `)}`
}

/** A value in one line. */
export function flowText(value: unknown): string {
  if (typeof value === 'string') return scalarText(value)
  if (Array.isArray(value)) return `[${value.map(flowText).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return `{ ${Object.entries(value)
    .map(([key, each]) => `${scalarText(key)}: ${flowText(each)}`)
    .join(', ')} }`
}

function without(text: string, { flow, items, range }: ListNode, index: number): string {
  const [before, item, next] = [items[index - 1], items[index] as ParsedNode, items[index + 1]]
  const [from, end] = item.range
  // A comment above the next item is about that item.
  if (!flow) return withoutLines(text, dashBefore(text, from), endOf(text, item.range))
  if (next !== undefined) return spliced(text, from, next.range[0], '')
  if (before === undefined) return spliced(text, range[0], range[1], '[]')
  return spliced(text, before.range[1], end, '')
}
