/** Running commands and installing foreign software: the same code as the interoperability tests. */
export { CommandFailed, installed, run } from '../../test/support/interop/command.ts'
