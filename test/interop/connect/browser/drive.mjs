/** Opens a page in Chromium and asks it. Arguments: Chromium, the URL of the page, and the arguments of each question as JSON. */
import { chromium } from 'playwright-core'

const [executablePath, url, questions] = process.argv.slice(2)
// Root has no sandbox of its own in a container.
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
try {
  const page = await browser.newPage()
  await page.goto(url)
  const answers = []
  for (const question of JSON.parse(questions))
    answers.push(await page.evaluate((given) => window.ask(...given), question))
  console.log(JSON.stringify(answers))
} finally {
  await browser.close()
}
