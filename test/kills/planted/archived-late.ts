/** Loaded into a process: records of the audit trail are deleted before the file that has them is there. */
import { replaceIn } from '../replacing.ts'

const WRITE = "writeWhole(file, old.map(lineOf).join(''))"
const FORGET = 'await changeDirectory(store, RETENTION, (change) => change.forgetAudit(last.sequence, file))'

replaceIn('/sidecar/authority/administration/audit-archive.ts', [WRITE, ''], [FORGET, `${FORGET}; ${WRITE}`])
