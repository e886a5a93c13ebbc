/** The young generations of processes when they ended. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { newFile, newFolder } from '../suite/resources.ts'

/** Loaded into every process: writes down the megabytes of a half of its young generation when it ends. */
const REPORT = `
import { writeFileSync } from 'node:fs'
import { getHeapSpaceStatistics } from 'node:v8'
process.on('exit', () => {
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
  const bytes = young.space_used_size + young.space_available_size
  writeFileSync(process.env.REPORTS + '/' + process.pid, String(Math.round(bytes / 2 ** 20)))
})`

/** A place for what some processes write. */
export function youngGenerations() {
  const reports = newFolder()
  const preload = `--import=${pathToFileURL(newFile(REPORT, 'report.mjs'))}`
  return {
    /** For the processes. */
    environment: (...nodeFlags: readonly string[]) => ({
      NODE_OPTIONS: [preload, ...nodeFlags].join(' '),
      REPORTS: reports,
    }),
    /** Of each process that has ended by itself. */
    megabytes: (): number[] =>
      globSync('*', { cwd: reports }).map((name) => Number(readFileSync(join(reports, name), 'utf8'))),
  }
}
