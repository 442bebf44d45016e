// Questions to the person at the terminal, and secrets from standard input.
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { EXIT, Failure } from './failure.ts'

export async function ask(question: string): Promise<string> {
  return await askOn(process.stderr, question)
}

/** What is typed is not shown. */
export async function askSecret(question: string): Promise<string> {
  if (!process.stdin.isTTY)
    throw new Failure(EXIT.usage, 'there is no terminal to ask for the password: use --password-stdin')
  process.stderr.write(question)
  const answer = await askOn(new Writable({ write: (_chunk, _encoding, done) => done() }), '')
  process.stderr.write('\n')
  return answer
}

async function askOn(output: NodeJS.WritableStream, question: string): Promise<string> {
  if (!process.stdin.isTTY)
    throw new Failure(
      EXIT.usage,
      `there is no terminal to ask on; give it as an option (asked was: ${question.trim()})`,
    )
  const terminal = createInterface({ input: process.stdin, output, terminal: true })
  try {
    return await terminal.question(question, { signal: endOf(terminal) })
  } finally {
    terminal.close()
  }
}

/** Ctrl-C and Ctrl-D reach the terminal's reader, not the process. */
function endOf(terminal: ReturnType<typeof createInterface>): AbortSignal {
  const end = new AbortController()
  terminal.once('SIGINT', () => end.abort(new Failure(EXIT.interrupted, 'interrupted')))
  terminal.once('close', () => end.abort(new Failure(EXIT.interrupted, 'interrupted')))
  return end.signal
}

/** All of standard input, without the line end. */
export async function readSecret(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk))
  const secret = Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '')
  if (secret === '') throw new Failure(EXIT.usage, 'standard input is empty')
  return secret
}

/** For what cannot be taken back. */
export async function confirm(what: string, isSure: boolean | undefined): Promise<void> {
  if (isSure === true) return
  if (!process.stdin.isTTY)
    throw new Failure(EXIT.usage, `${what}: say --yes, as there is no terminal to ask on`)
  const answer = await ask(`${what} [y/N] `)
  if (!/^y(es)?$/i.test(answer.trim())) throw new Failure(EXIT.failed, 'nothing was done')
}
