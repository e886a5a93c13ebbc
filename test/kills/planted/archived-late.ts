/** Loaded into a process: records of the audit trail are deleted before the file that has them is there. */
import { registerHooks } from 'node:module'

const ARCHIVE = '/sidecar/authority/administration/audit-archive.ts'
const [WRITE, FORGET] = [
  "writeWhole(file, old.map(lineOf).join(''))",
  'await changeDirectory(store, RETENTION, (change) => change.forgetAudit(last.sequence, file))',
]

registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context)
    if (!url.endsWith(ARCHIVE)) return loaded
    const source = String(loaded.source)
    if (!source.includes(WRITE) || !source.includes(FORGET))
      throw new Error(`${ARCHIVE}: expected both steps`)
    return { ...loaded, source: source.replace(WRITE, '').replace(FORGET, `${FORGET}; ${WRITE}`) }
  },
})
