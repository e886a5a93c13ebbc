/**
 * A server that npm runs ends with npm. npm hands a signal to the shell between them at most, which dies of
 * it without a word to the server; No process passes on SIGKILL. So the server looks whether its parents
 * are still the same.
 *
 * Only where npm waits for the server: one that was put into the background on purpose outlives whatever
 * started it.
 */
import { readFileSync } from 'node:fs'

/** How often it looks, in milliseconds. */
const LOOK_MS = 250

/** Seen as early as can be: npm may end while the server starts. */
const parentsAtFirst = parentsNow()

/** Calls `onEnd` once, when npm has ended. @returns a function that stops looking */
export function whenNpmEnds(onEnd: () => void): () => void {
  if (!npmWaits(process.env.npm_lifecycle_script)) return () => {}
  const looking = setInterval(() => {
    if (parentsNow().join() === parentsAtFirst.join() && !orphaned()) return
    clearInterval(looking)
    onEnd()
  }, LOOK_MS)
  looking.unref()
  return () => clearInterval(looking)
}

/**
 * Whether the command of an npm script, or of `npx`, is this program in the foreground. Every process below a
 * script inherits the variable: a server that such a program starts is that program's business.
 */
export function npmWaits(script: string | undefined): boolean {
  if (script === undefined || !/\bportcullis\b/.test(script)) return false
  const unquoted = script.replaceAll(/'[^']*'|"(?:\\.|[^"\\])*"/g, '')
  // A single `&`: not of `&&`, nor of a redirection.
  const background = /(?<![&<>|])&(?![&>])/.test(unquoted)
  return !background && !/\b(?:nohup|setsid|disown|daemonize|start-stop-daemon)\b/.test(unquoted)
}

/**
 * The parent, and where that is a shell its parent too: `sh` of Debian stays between npm and the command,
 * others replace themselves with it. Only Linux shows a process that is not ours; elsewhere `sh` is one
 * that does not stay.
 */
function parentsNow(): readonly number[] {
  const { name, parent } = processOf(process.ppid) ?? {}
  return parent !== undefined && /^(?:ba|da|a|z|k|mk|fi)?sh$/.test(name ?? '')
    ? [process.ppid, parent]
    : [process.ppid]
}

/**
 * Whether npm ended before anything here ran: it is of one process group with its children, and the first
 * process is not.
 */
function orphaned(): boolean {
  return parentsNow().at(-1) === 1 && processOf(1)?.group !== processOf(process.pid)?.group
}

interface ProcessStatus {
  readonly name: string
  readonly parent: number
  readonly group: number
}

/** `undefined` where it has ended, or the platform does not say. */
function processOf(pid: number): ProcessStatus | undefined {
  let status: string
  try {
    status = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return undefined
  }
  // `PID (NAME) STATE PARENT GROUP …`, and a name may hold anything.
  const [, name = '', parent, group] = /^\d+ \((.*)\) \S (\d+) (\d+)/s.exec(status) ?? []
  return { name, parent: Number(parent), group: Number(group) }
}
