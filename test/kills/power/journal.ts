/** The journal of what processes did to files (`journal.c`), as events in their order. */
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** A file or a folder, whatever its names are. */
export interface Inode {
  readonly folder: boolean
}

/**
 * An event of the journal. `on` is what a sync must reach for it to last: the file, or the folder with the
 * name.
 */
export type Event = { readonly on: Inode } & (
  | { readonly what: 'write'; readonly offset: number; readonly bytes: Buffer }
  | { readonly what: 'cut'; readonly size: number }
  /** The name now means this, or nothing. */
  | { readonly what: 'name'; readonly path: string; readonly inode: Inode | undefined }
  /** `from` is gone, and `to` means what it meant. */
  | { readonly what: 'rename'; readonly from: string; readonly to: string; readonly inode: Inode }
)

export interface Journal {
  readonly events: readonly Event[]
  /** For each event, how many events there are when it lasts; `Infinity`: it was not synced. */
  readonly lasting: readonly number[]
  /** Marks of the test: how many events there were before each. */
  readonly marks: readonly number[]
  readonly syncs: number
}

/** @param root the folder that was there before, below which everything is written down */
export function readJournal(file: string, root: string): Journal {
  const reader = new Reader(root)
  const bytes = readFileSync(file)
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf('\n', at)
    const [kind = '', ...numbers] = bytes.toString('latin1', at, end).split(' ')
    const values = numbers.map(Number)
    const length = 'CWRLUD'.includes(kind) ? (values.at(-1) as number) : 0
    reader.take(kind, values, bytes.subarray(end + 1, end + 1 + length))
    at = end + 1 + length
  }
  return reader
}

class Reader implements Journal {
  readonly events: Event[] = []
  readonly lasting: number[] = []
  readonly marks: number[] = []
  syncs = 0
  readonly #inodes = new Map<number, Inode>()
  readonly #names = new Map<string, Inode>()
  /** Events that are not synced yet. */
  readonly #unsynced = new Map<Inode, number[]>()
  /** Syncs that have begun: how many events there were. */
  readonly #begun = new Map<number, number>()

  constructor(root: string) {
    this.#names.set(root, { folder: true })
  }

  take(kind: string, [number = 0, value = 0]: readonly number[], bytes: Buffer): void {
    const text = kind === 'W' ? '' : bytes.toString('utf8')
    const [path = '', to = ''] = text.split('\n')
    if (kind === 'C' || kind === 'D') this.#create(number, path, kind === 'D')
    else if (kind === 'W') this.#add({ what: 'write', on: this.#inode(number), offset: value, bytes })
    else if (kind === 'T') this.#add({ what: 'cut', on: this.#inode(number), size: value })
    else if (kind === 'R') this.#rename(path, to)
    else if (kind === 'L') this.#name(to, this.#names.get(path))
    else if (kind === 'U') this.#name(path, undefined)
    else if (kind === 'S') this.#begun.set(value, this.events.length)
    else if (kind === 'E') this.#synced(number, this.#begun.get(value) as number)
    else if (kind === 'M') this.marks.push(this.events.length)
    else throw new Error(`expected a record of the journal, found ${kind}`)
  }

  #add(event: Event): void {
    const unsynced = this.#unsynced.get(event.on)
    if (unsynced === undefined) this.#unsynced.set(event.on, [this.events.length])
    else unsynced.push(this.events.length)
    this.events.push(event)
    this.lasting.push(Number.POSITIVE_INFINITY)
  }

  #create(number: number, path: string, folder: boolean): void {
    const inode = { folder }
    this.#inodes.set(number, inode)
    this.#name(path, inode)
  }

  #name(path: string, inode: Inode | undefined): void {
    if (inode === undefined) this.#names.delete(path)
    else this.#names.set(path, inode)
    this.#add({ what: 'name', on: this.#folderOf(path), path, inode })
  }

  #rename(from: string, to: string): void {
    const inode = this.#names.get(from) as Inode
    this.#names.delete(from)
    this.#names.set(to, inode)
    this.#add({ what: 'rename', on: this.#folderOf(to), from, to, inode })
  }

  #synced(number: number, before: number): void {
    this.syncs++
    const inode = this.#inode(number)
    const unsynced = this.#unsynced.get(inode) ?? []
    for (const event of unsynced) if (event < before) this.lasting[event] = this.events.length
    this.#unsynced.set(
      inode,
      unsynced.filter((event) => event >= before),
    )
  }

  /** One that was there before is a root, of which only one is known. */
  #inode(number: number): Inode {
    return this.#inodes.get(number) ?? ([...this.#names.values()][0] as Inode)
  }

  #folderOf(path: string): Inode {
    const folder = this.#names.get(dirname(path))
    if (folder === undefined) throw new Error(`${path}: expected a folder of the journal`)
    return folder
  }
}
