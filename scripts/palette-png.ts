/** Pictures of a page as PNG with a palette: a third of what a browser writes. */
import { crc32, deflateSync } from 'node:zlib'

export interface Pixels {
  readonly width: number
  readonly height: number
  /** Red, green, blue and opacity of each pixel, row by row. */
  readonly rgba: Uint8Array
}

const COLORS_MAX = 256

/** Before the note, in its chunk. */
const KEYWORD = 'Comment\0'

/**
 * Writes the picture in 256 of its colors. Another color, which only the edges of letters have, becomes the
 * nearest of them. The note is in a chunk of text; a program that shows pictures does not read it.
 */
export function palettePng({ width, height, rgba }: Pixels, note: string): Buffer {
  const colors = new Uint32Array(width * height)
  const counts = new Map<number, number>()
  for (let pixel = 0; pixel < colors.length; pixel++) {
    const at = pixel * 4
    const color = ((rgba[at] ?? 0) << 16) | ((rgba[at + 1] ?? 0) << 8) | (rgba[at + 2] ?? 0)
    colors[pixel] = color
    counts.set(color, (counts.get(color) ?? 0) + 1)
  }
  const entries = paletteOf(counts)
  const entryOf = new Map([...counts.keys()].map((color) => [color, nearest(color, entries)]))
  // Each row begins with its filter: none, which serves a palette best.
  const rows = Buffer.alloc((width + 1) * height)
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      rows[y * (width + 1) + 1 + x] = entryOf.get(colors[y * width + x] ?? 0) ?? 0
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // Eight bits a pixel, of a palette.
  header.set([8, 3], 8)
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', header),
    chunk('tEXt', Buffer.from(`${KEYWORD}${note}`, 'latin1')),
    chunk('PLTE', Buffer.from(entries.flatMap(channelsOf))),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** The note of a picture of {@link palettePng}. */
export function noteIn(png: Buffer): string | undefined {
  const start = png.indexOf(`tEXt${KEYWORD}`, 0, 'latin1')
  if (start === -1) return undefined
  const length = png.readUInt32BE(start - 4)
  return png.toString('latin1', start + 4 + KEYWORD.length, start + 4 + length)
}

function chunk(type: string, data: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  check.writeUInt32BE(crc32(typed))
  return Buffer.concat([length, typed, check])
}

/**
 * Frequent colors, and rare ones that no other one comes near: again and again the one that would be missed
 * most.
 */
function paletteOf(counts: ReadonlyMap<number, number>): number[] {
  const missed = new Map([...counts.keys()].map((color) => [color, Number.POSITIVE_INFINITY]))
  const entries: number[] = []
  while (entries.length < COLORS_MAX && missed.size > 0) {
    let [next, most] = [0, -1]
    for (const [color, distance] of missed) {
      const loss = distance * (counts.get(color) ?? 0)
      if (loss > most) [next, most] = [color, loss]
    }
    entries.push(next)
    missed.delete(next)
    for (const [color, distance] of missed) missed.set(color, Math.min(distance, distanceOf(color, next)))
  }
  return entries
}

const channelsOf = (color: number): [number, number, number] => [color >> 16, (color >> 8) & 255, color & 255]

function nearest(color: number, entries: readonly number[]): number {
  let [found, least] = [0, Number.POSITIVE_INFINITY]
  for (const [index, entry] of entries.entries()) {
    const distance = distanceOf(color, entry)
    if (distance < least) [found, least] = [index, distance]
  }
  return found
}

function distanceOf(one: number, other: number): number {
  const others = channelsOf(other)
  return channelsOf(one).reduce((sum, channel, index) => sum + (channel - (others[index] ?? 0)) ** 2, 0)
}
