/** Loaded into a process: a change and its record of the audit trail are two transactions. */
import { DatabaseSync, type SQLInputValue, StatementSync } from 'node:sqlite'

const { exec } = DatabaseSync.prototype
const all = StatementSync.prototype.all as (this: StatementSync, ...values: SQLInputValue[]) => unknown
let writer: DatabaseSync | undefined

DatabaseSync.prototype.exec = function (sql) {
  if (sql.startsWith('BEGIN')) writer = this
  return exec.call(this, sql)
}
Reflect.set(StatementSync.prototype, 'all', function (this: StatementSync, ...values: SQLInputValue[]) {
  if (writer?.isTransaction && this.sourceSQL.includes('INSERT INTO audit')) {
    exec.call(writer, 'COMMIT')
    exec.call(writer, 'BEGIN IMMEDIATE')
  }
  return all.apply(this, values)
})
