// Prompts on the terminal, and secrets from standard input.
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { EXIT, Failure } from './failure.ts'

export async function ask(question: string): Promise<string> {
  return await askOn(process.stderr, question)
}

/** Prompts without echoing the input. Without a terminal, the secret is what was piped in. */
export async function askSecret(question: string): Promise<string> {
  if (!process.stdin.isTTY) return await readSecret()
  process.stderr.write(question)
  const answer = await askOn(new Writable({ write: (_chunk, _encoding, done) => done() }), '')
  process.stderr.write('\n')
  return answer
}

async function askOn(output: NodeJS.WritableStream, question: string): Promise<string> {
  if (!process.stdin.isTTY)
    throw new Failure(
      EXIT.usage,
      `cannot prompt for "${question.trim()}" without a terminal; pass it as an option`,
    )
  const terminal = createInterface({ input: process.stdin, output, terminal: true })
  try {
    return await terminal.question(question, { signal: endOf(terminal) })
  } finally {
    terminal.close()
  }
}

/** Aborted by Ctrl-C and Ctrl-D, which reach the readline interface instead of the process. */
function endOf(terminal: ReturnType<typeof createInterface>): AbortSignal {
  const end = new AbortController()
  terminal.once('SIGINT', () => end.abort(new Failure(EXIT.interrupted, 'interrupted')))
  terminal.once('close', () => end.abort(new Failure(EXIT.interrupted, 'interrupted')))
  return end.signal
}

/** Reads all of standard input, without a trailing line break. */
export async function readSecret(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk))
  const secret = Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '')
  if (secret === '')
    throw new Failure(
      EXIT.usage,
      'standard input is empty; pipe the secret to it, as in `--password-stdin < password.txt`',
    )
  return secret
}

/** Asks before an action that cannot be undone. */
export async function confirm(what: string, isSure: boolean | undefined): Promise<void> {
  if (isSure === true) return
  if (!process.stdin.isTTY) throw new Failure(EXIT.usage, `${what} Pass --yes to confirm without a terminal`)
  const answer = await ask(`${what} [y/N] `)
  if (!/^y(es)?$/i.test(answer.trim())) throw new Failure(EXIT.failed, 'cancelled; nothing was changed')
}
