// The page at /docs/devices: `DEVICES.md` as HTML. It is created by the build, because the service has no Markdown files.
import { page } from './html-page.ts'
import { markdownHtml } from './markdown.ts'

export function devicesPage(markdown: string): string {
  const [first = ''] = markdown.split('\n', 1)
  const links = '<p><a href="/docs">REST</a> · <a href="/docs/async">MQTT and /ws</a></p>'
  return page(first.replace('# ', ''), `${links}${markdownHtml(markdown.slice(first.length))}`)
}
