import { expect, test } from 'vitest'
import { browserText } from './browser-text.ts'

const MOZILLA = 'Mozilla/5.0'
const CHROME = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36'

test.each([
  [`${MOZILLA} (X11; Linux x86_64) ${CHROME}`, 'Chrome 156, Linux'],
  [`${MOZILLA} (Windows NT 10.0; Win64; x64) ${CHROME} Edg/156.0.0.0`, 'Edge 156, Windows'],
  [`${MOZILLA} (X11; Ubuntu; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0`, 'Firefox 140, Linux'],
  [
    `${MOZILLA} (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1`,
    'Safari 18, iOS',
  ],
  ['fleet-cli/0.1.0', 'fleet-cli/0.1.0'],
])('a browser is told by its name, and another program by its own words', (userAgent, text) => {
  expect(browserText(userAgent)).toBe(text)
})
