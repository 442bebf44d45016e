// Files of the service go straight to the disk, however large they are: the page asks for an address that is good once,
// because a link can carry no token.
import { fleet } from './client.ts'

/** `path` is that of a GET which answers with a file. Rejects if there is no such file. */
export async function download(path: string): Promise<void> {
  const { url } = await fleet.issueDownloadTicket({ body: { path } })
  const link = document.createElement('a')
  link.href = url
  // The service names the file. An answer that is none must not take the place of the page.
  link.download = ''
  link.click()
}
