/**
 * Disks that a power cut may leave: all synced writes are there, and any part of the others. A write may be
 * torn between sectors, and a name that no sync of its folder has reached may be there or not.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Event, Inode, Journal } from './journal.ts'

const SECTOR = 512

/** The part of the rest that is on the disk. */
export type Kept =
  /** Nothing. */
  | 'none'
  /** All of it: the process was killed, and the machine was not. */
  | 'all'
  /** Names up to a moment, in their order, and any writes: file systems with a journal. */
  | 'ordered'
  /** Whatever it is. */
  | 'any'

export const KEPT: readonly Kept[] = ['none', 'all', 'ordered', 'any']

/** @param events how many of the journal had happened */
export interface Cut {
  readonly events: number
  readonly kept: Kept
}

/** Writes the disk into a folder. */
export function buildDisk(
  { events, lasting }: Journal,
  { events: happened, kept }: Cut,
  random: () => number,
  { root, folder }: { readonly root: string; readonly folder: string },
): void {
  const disk = new Disk()
  const chance = random()
  const namesUntil = Math.floor(random() * happened)
  for (let index = 0; index < happened; index++) {
    const event = events[index] as Event
    const isName = event.what === 'name' || event.what === 'rename'
    if (kept === 'all' || (lasting[index] as number) <= happened) disk.apply(event)
    else if (kept === 'none' || (kept === 'ordered' && isName && index >= namesUntil)) continue
    else if (kept === 'ordered' && isName) disk.apply(event)
    else if (random() < chance) {
      if (event.what === 'write' && random() < 0.5) disk.tear(event, random)
      else disk.apply(event)
    }
  }
  for (const [path, inode] of [...disk.names].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const to = join(folder, relative(root, path))
    if (inode.folder) mkdirSync(to, { recursive: true, mode: 0o700 })
    // The index that processes share of the log is in memory: after a power cut, anything may be there.
    else if (path.endsWith('-shm')) put(to, Buffer.alloc(SECTOR, Math.floor(random() * 256)))
    else put(to, disk.contentOf(inode))
  }
}

/** A file whose folder is lost is lost. */
function put(path: string, content: Uint8Array): void {
  try {
    writeFileSync(path, content, { mode: 0o600 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

class Disk {
  readonly names = new Map<string, Inode>()
  readonly #contents = new Map<Inode, { bytes: Buffer; size: number }>()

  apply(event: Event): void {
    if (event.what === 'write') this.#write(event.on, event.offset, event.bytes)
    else if (event.what === 'cut') this.#cut(event.on, event.size)
    else if (event.what === 'rename') {
      if (this.names.get(event.from) === event.inode) this.names.delete(event.from)
      this.names.set(event.to, event.inode)
    } else if (event.inode === undefined) this.names.delete(event.path)
    else this.names.set(event.path, event.inode)
  }

  /** Writes some of its sectors. */
  tear({ on, offset, bytes }: Event & { readonly what: 'write' }, random: () => number): void {
    for (let at = 0; at < bytes.length; ) {
      const length = Math.min(SECTOR - ((offset + at) % SECTOR), bytes.length - at)
      if (random() < 0.5) this.#write(on, offset + at, bytes.subarray(at, at + length))
      at += length
    }
  }

  contentOf(inode: Inode): Uint8Array {
    const { bytes, size } = this.#of(inode)
    return bytes.subarray(0, size)
  }

  #of(inode: Inode): { bytes: Buffer; size: number } {
    let content = this.#contents.get(inode)
    if (content === undefined) {
      content = { bytes: Buffer.alloc(4_096), size: 0 }
      this.#contents.set(inode, content)
    }
    return content
  }

  #write(inode: Inode, offset: number, bytes: Buffer): void {
    const content = this.#of(inode)
    if (offset + bytes.length > content.size) this.#cut(inode, offset + bytes.length)
    bytes.copy(content.bytes, offset)
  }

  /** Bytes behind the end of a file are zero when it grows again. */
  #cut(inode: Inode, size: number): void {
    const content = this.#of(inode)
    if (size > content.bytes.length) {
      const bytes = Buffer.alloc(size * 2)
      content.bytes.copy(bytes, 0, 0, content.size)
      content.bytes = bytes
    }
    if (size < content.size) content.bytes.fill(0, size, content.size)
    content.size = size
  }
}
