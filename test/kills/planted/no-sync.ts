/** Loaded into a process: changes of the directory are never made to last, as with `synchronous = OFF`. */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { DatabaseSync } from 'node:sqlite'

const { exec } = DatabaseSync.prototype

DatabaseSync.prototype.exec = function (sql) {
  exec.call(this, sql.replace(/synchronous = \w+/g, 'synchronous = OFF'))
}
Reflect.set(fs, 'fdatasync', (_descriptor: number, done: (error: null) => void) => setImmediate(done, null))
syncBuiltinESMExports()
