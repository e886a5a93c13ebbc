/**
 * Draws a flame graph. A box is a function: its width is the time in it and in what it called, its colour
 * says whose code it is, and it stands on the box of its caller.
 */

import { drawSvg, FAINT, FONT, INK, titleOf } from '../report/svg.ts'
import { type Frame, ORIGINS, type Origin, sharesByOrigin, withoutTinyFrames } from './calls.ts'

/** The legend of the colours. */
export const ORIGIN_NAMES: Readonly<Record<Origin, string>> = {
  ours: 'Portcullis',
  'grpc-js': 'grpc-js',
  node: 'Node, in JavaScript',
  native: 'Node, V8 and the kernel, native',
  gc: 'garbage collection',
  other: 'other packages',
}

const COLORS: Readonly<Record<Origin, string>> = {
  ours: '#6fcf97',
  'grpc-js': '#8db7e8',
  node: '#f6d365',
  native: '#f4a582',
  gc: '#d9a0d6',
  other: '#d0d7de',
}

const WIDTH = 1200
const MARGIN = 16
const PLOT_WIDTH = WIDTH - 2 * MARGIN
const TOP = 116
const LEGEND_TOP = 84
const BOTTOM = 16
const ROW_HEIGHT = 20
const FONT_SIZE = 12
/** The average width of a letter, to place what follows a text. */
const LETTER_WIDTH = 6.3
const TEXT_PADDING = 3
/** Narrower boxes show no name. */
const NAMED_WIDTH_MIN = 32

/** Boxes that are narrower than this share of the whole are merged. */
const TINY = 0.002

/** @param how what was measured, and when; it is written below the title */
export function flameGraph(tree: Frame, title: string, how: string): string {
  const shown = withoutTinyFrames(tree, tree.totalMicroseconds * TINY)
  const height = TOP + (depthOf(shown) - 1) * ROW_HEIGHT + BOTTOM
  const boxes =
    shown.children.length === 0
      ? []
      : boxesAbove(shown, 0, height - BOTTOM, PLOT_WIDTH / tree.totalMicroseconds)
  return drawSvg(WIDTH, height, {
    title: titleOf(title, how),
    graphic: [...legend(tree), ...boxes],
  })
}

/** `12.3 %` */
export function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}

function depthOf({ children }: Frame): number {
  return 1 + Math.max(0, ...children.map(depthOf))
}

/** The boxes of all callees side by side, each with its own callees above it. */
function boxesAbove(frame: Frame, left: number, bottom: number, pixelsPerMicrosecond: number): object[] {
  let x = left
  return frame.children.flatMap((child) => {
    const width = child.totalMicroseconds * pixelsPerMicrosecond
    const boxes = [
      ...box(child, MARGIN + x, bottom - ROW_HEIGHT, width),
      ...boxesAbove(child, x, bottom - ROW_HEIGHT, pixelsPerMicrosecond),
    ]
    x += width
    return boxes
  })
}

function box(frame: Frame, x: number, y: number, width: number): object[] {
  const shape = { x: rounded(x), y, width: rounded(Math.max(0.5, width - 0.5)), height: ROW_HEIGHT - 1 }
  const drawn = rectangle(shape, frame.origin)
  if (width < NAMED_WIDTH_MIN) return [drawn]
  const room = rounded(shape.width - 2 * TEXT_PADDING)
  return [drawn, text(labelOf(frame), shape.x + TEXT_PADDING, y + ROW_HEIGHT / 2, INK, room)]
}

/** The name and the file, shortened. */
function labelOf({ name, file, origin }: Frame): string {
  const parts = file
    .replace(/^node:(?:internal\/)?/, '')
    .replace(/^@[^/]+\//, '')
    .split('/')
  // For packages, the folders between the name of the package and that of the file are left out.
  const short = origin === 'ours' || origin === 'node' ? parts : [...new Set([parts.at(0), parts.at(-1)])]
  return file === '' ? name : `${name}  ${short.join('/')}`
}

/** A coloured square for each origin, with its share of the time. */
function legend(tree: Frame): object[] {
  const shares = sharesByOrigin(tree)
  let x = MARGIN
  return ORIGINS.flatMap((origin) => {
    const label = `${ORIGIN_NAMES[origin]}: ${percent(shares[origin])}`
    const shape = { x: rounded(x), y: LEGEND_TOP, width: 12, height: 12 }
    const entry = [rectangle(shape, origin), text(label, x + 18, LEGEND_TOP + 6, FAINT)]
    x += 44 + label.length * LETTER_WIDTH
    return entry
  })
}

function rectangle(shape: object, origin: Origin): object {
  return { type: 'rect', silent: true, shape, style: { fill: COLORS[origin] } }
}

/**
 * @param middle vertical centre of the letters
 * @param width at which a longer text is cut off
 */
function text(content: string, x: number, middle: number, fill: string, width?: number): object {
  const room = width === undefined ? {} : { width, overflow: 'truncate', ellipsis: '…' }
  const font = `${FONT_SIZE}px ${FONT}`
  const style = { text: content, x: rounded(x), y: middle, verticalAlign: 'middle', fill, font, ...room }
  return { type: 'text', silent: true, style }
}

function rounded(pixels: number): number {
  return Math.round(pixels * 10) / 10
}
