/** Commands that test and serve a matrix of the page, from the folder that it was saved in. */
import { testsName } from './playground.ts'
import { PORTCULLIS, quoted } from './shell.ts'

/** @param file name of the matrix file */
export function fileCommands(file: string): readonly string[] {
  const [name, tests] = [file, testsName(file)].map((each) =>
    quoted(each.startsWith('-') ? `./${each}` : each),
  )
  return [
    `${PORTCULLIS} matrix lint ${name}`,
    `${PORTCULLIS} matrix test ${tests} --matrix ${name}`,
    `${PORTCULLIS} serve --matrix ${name}`,
  ]
}
