/** Editing YAML in one place: the rest of the text is not written again, so its layout stays as it is. */
import type { Pair, ParsedNode, Scalar, YAMLMap, YAMLSeq } from 'yaml'
import {
  appendedAfter,
  type DocumentChange,
  type DocumentPath,
  type Editor,
  indentAt,
  rowText,
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
      if (library.isMap(container)) return withoutKey(text, container as BlockMap, String(last))
      const list = container as YAMLSeq<ParsedNode>
      const parent = nodeAt(library, root, change.path.slice(0, -2))
      // An empty block would be no list.
      if (list.items.length === 1 && library.isMap(parent))
        return withValue(text, parent as BlockMap, String(change.path.at(-2)), [])
      return without(text, list, last as number)
    }
    if (library.isMap(container)) return withValue(text, container as BlockMap, String(last), change.value)
    const [from, to] = nodeAt(library, root, change.path)?.range ?? [0, 0]
    return spliced(text, from, to, flowText(change.value))
  }
}

type BlockMap = YAMLMap<Scalar.Parsed, ParsedNode | null>

const lineStartOf = (text: string, offset: number): number => text.lastIndexOf('\n', offset - 1) + 1

/** Where the text of a node ends, without the line end that a block has. */
const endOf = (text: string, [start, end]: readonly [number, number, ...unknown[]]): number =>
  start + text.slice(start, end).trimEnd().length

function pairOf(map: BlockMap, key: string): number {
  return map.items.findIndex((pair) => pair.key.value === key)
}

/** A value that is a block goes, and the one that takes its place is written in the line of its key. */
function withValue(text: string, map: BlockMap, key: string, value: unknown): string {
  const pair = map.items[pairOf(map, key)]
  if (pair === undefined) return withKey(text, map, key, value)
  const colon = text.indexOf(':', pair.key.range[1])
  const [start, end] = pair.value?.range ?? [colon + 1, colon + 1]
  const between = text.slice(colon + 1, start)
  if (start > colon + 1 && !between.includes('\n'))
    return spliced(text, start, endOf(text, [start, end]), flowText(value))
  const rest = text.slice(endOf(text, [start, end]))
  return `${text.slice(0, colon + 1)} ${flowText(value)}${between.trimEnd()}${rest}`
}

function withKey(text: string, map: BlockMap, key: string, value: unknown): string {
  const [first, last] = [map.items[0], map.items.at(-1)]
  const from = first?.key.range[0] ?? 0
  const written = `${key}: ${flowText(value)}`
  const after = endOf(text, last?.value?.range ?? last?.key.range ?? [0, 0])
  if (map.flow) {
    const [start, end] = map.range ?? [0, 0]
    return appendedAfter(text, { start, first: from, after, end: end - 1, row: () => written })
  }
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const lineEnd = /^[^\r\n]*/.exec(text.slice(after))?.[0].length ?? 0
  const indent = ' '.repeat(from - lineStartOf(text, from))
  return spliced(text, after + lineEnd, after + lineEnd, `${eol}${indent}${written}`)
}

function withoutKey(text: string, map: BlockMap, key: string): string {
  const index = pairOf(map, key)
  const [before, pair, next] = [map.items[index - 1], map.items[index], map.items[index + 1]]
  const from = pair?.key.range[0] ?? 0
  const end = endOf(text, pair?.value?.range ?? [from, from])
  if (map.flow || before === undefined) {
    if (next !== undefined) return spliced(text, from, next.key.range[0], '')
    return spliced(text, endOf(text, before?.value?.range ?? [from, from]), end, '')
  }
  const lineEnd = text.indexOf('\n', end)
  return spliced(text, lineStartOf(text, from), lineEnd === -1 ? text.length : lineEnd + 1, '')
}

function nodeAt(library: YamlLibrary, root: ParsedNode, path: DocumentPath): ParsedNode | undefined {
  let node: unknown = root
  for (const segment of path) {
    if (library.isSeq(node)) node = node.items[segment as number]
    else if (library.isMap(node))
      node = (node.items as Pair[]).find(({ key }) => library.isScalar(key) && key.value === segment)?.value
  }
  return (node ?? undefined) as ParsedNode | undefined
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
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const item = (indent: string) => yamlItem(value, indent).replaceAll('\n', eol)
  const list = nodeAt(library, root, path) as YAMLSeq<ParsedNode> | undefined
  if (list === undefined) {
    const begun = text.endsWith('\n') ? text : `${text}${eol}`
    return `${begun}${String(path.at(-1))}:${eol}${item('  ')}${eol}`
  }
  const [start = 0, end = 0] = list.range ?? []
  const last = list.items.at(-1)
  if (last === undefined || last === null) {
    const isInFlow = library.isMap(root) && root.flow === true
    if (typeof value !== 'object' || isInFlow) return spliced(text, start, end, `[${flowText(value)}]`)
    const indent = `${indentAt(text, start)}  `
    return `${text.slice(0, start).trimEnd()}${eol}${item(indent)}${text.slice(end)}`
  }
  if (list.flow) {
    const first = list.items[0]?.range?.[0] ?? end
    return appendedAfter(text, {
      start,
      first,
      after: last.range[1],
      end: end - 1,
      row: () => flowText(value),
    })
  }
  // Behind the last line of the last item, with the comment on it.
  const lineEnd = text.indexOf('\n', last.range[1] - 1)
  const at = text[last.range[1] - 1] === '\n' ? last.range[1] - 1 : lineEnd === -1 ? text.length : lineEnd
  const until = text[at - 1] === '\r' ? at - 1 : at
  return spliced(text, until, until, `${eol}${item(indentAt(text, dashBefore(text, last.range[0])))}`)
}

/** Where the dash of an item is. */
function dashBefore(text: string, offset: number): number {
  return text.lastIndexOf('-', offset)
}

/** An item of a block, with its dash. The rows of a row are written in one line. */
export function yamlItem(value: unknown, indent: string): string {
  if (typeof value !== 'object' || value === null) return `${indent}- ${scalarText(String(value))}`
  const members = Object.entries(value).map(([key, each]) => `${key}: ${flowText(each)}`)
  return `${indent}- ${members.join(`\n${indent}  `)}`
}

function flowText(value: unknown): string {
  if (typeof value === 'string') return scalarText(value)
  if (Array.isArray(value)) return `[${value.map(flowText).join(', ')}]`
  if (typeof value !== 'object' || value === null) return rowText(value, '')
  return `{ ${Object.entries(value)
    .map(([key, each]) => `${key}: ${flowText(each)}`)
    .join(', ')} }`
}

function without(text: string, list: YAMLSeq<ParsedNode>, index: number): string {
  const item = list.items[index]?.range ?? [0, 0, 0]
  if (!list.flow) {
    // What stands above the next item is about that one.
    const from = lineStartOf(text, dashBefore(text, item[0]))
    const lineEnd = text.indexOf('\n', endOf(text, item))
    return spliced(text, from, lineEnd === -1 ? text.length : lineEnd + 1, '')
  }
  const next = list.items[index + 1]?.range
  if (next !== undefined) return spliced(text, item[0], next[0], '')
  return spliced(text, list.items[index - 1]?.range?.[1] ?? item[0], item[1], '')
}
