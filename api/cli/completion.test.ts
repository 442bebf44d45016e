import { expect, test } from 'vitest'
import { createCli } from './cli.ts'
import { complete } from './completion.ts'
import { createProgram, type Program } from './program.ts'

function open(): Program {
  const writer = { write: () => undefined }
  const program = createProgram('1.2.3', () => cli, process)
  const cli = createCli({
    environment: {
      configDir: '/nowhere',
      stateDir: '/nowhere',
      variables: {},
      isPlain: true,
      url: undefined,
      token: undefined,
      service: { httpPort: 1, mqttPort: 1, dataDir: '.' },
    },
    stdout: writer,
    stderr: writer,
    signal: new AbortController().signal,
    options: program.options,
  })
  return program
}

test.each([
  [['te'], ['telemetry']],
  [['cmd', 's'], ['send']],
  [['--json', '--url', 'http://x', 'devices', 'de'], ['decommission']],
  [['devices', 'list', '--sta'], ['--status']],
  [['devices', 'list', '--js'], ['--json']],
  [
    ['devices', 'list', '--status', 'o'],
    ['online', 'offline'],
  ],
  [
    ['devices', 'get', 'ro'],
    ['robot-7', 'robot-8'],
  ],
  [['--json', 'telemetry', 'history', 'robot-7'], ['robot-7']],
  [
    ['telemetry', 'history', 'robot-7', 'ro'],
    ['robot-7', 'robot-8'],
  ],
  [
    ['audit', '--device', ''],
    ['robot-7', 'robot-8', 'thermo-1'],
  ],
  [['completion', 'f'], ['fish']],
  [['nonsense', ''], expect.arrayContaining(['login', 'devices'])],
])('%j is completed to %j', async (words, candidates) => {
  const devicesLike = async () => ['robot-7', 'robot-8', 'thermo-1']
  expect(await complete(open(), words, devicesLike)).toEqual(candidates)
})

test('ids are looked up with the service and login given on the line', async () => {
  const program = open()
  await complete(program, ['--url', 'http://x', 'devices', '--context', 'prod', 'get', ''], async () => {
    expect(program.options()).toMatchObject({ url: 'http://x', context: 'prod' })
    return []
  })
  expect.assertions(1)
})

test('every area, command and option has a description', async () => {
  const program = open()
  for (const area of program.command.commands) {
    await program.load(area.name())
    expect(area.description()).not.toBe('')
    for (const command of area.commands) expect([command.name(), command.description()]).not.toContain('')
    for (const command of [area, ...area.commands])
      for (const option of command.options) expect([option.flags, option.description]).not.toContain('')
  }
})

test('no option of a command has the name of a global option', async () => {
  const program = open()
  const everywhere = program.command.options.flatMap(({ short, long }) => [short, long])
  for (const area of program.command.commands) {
    await program.load(area.name())
    for (const command of [area, ...area.commands])
      for (const { short, long } of command.options)
        for (const flag of [short, long])
          if (flag !== undefined) expect(everywhere, `${area.name()} ${command.name()}`).not.toContain(flag)
  }
})
