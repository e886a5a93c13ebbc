/** Running commands and installing foreign software: the same code as the interoperability tests. */
export { cargo } from '../../test/support/interop/cargo.ts'
export { CommandFailed, installed, run } from '../../test/support/interop/command.ts'
export {
  installedFromPython,
  makePythonStubs,
  pythonBuildTools,
} from '../../test/support/interop/python-packages.ts'
