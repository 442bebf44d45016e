// For tests: a real ROS 2 (Jazzy, from Python's package index) with a rosbridge server and a robot.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../../engine/adapters/testing/free-port.ts'
import { until } from './service.ts'

/** The program that pip installs beside the Python of its environment. Undefined if there is none. */
export const ROSBRIDGE_SERVER = process.env['TEST_SERVER_ROSBRIDGE_SERVER_RS']
const ROBOT = fileURLToPath(new URL('robot.py', import.meta.url))
/** Those of Linux: with a higher one ports run into those of clients. */
const DOMAINS = 100
const START_MS = 120_000

export class RosJazzy {
  readonly #folder = mkdtempSync(join(tmpdir(), 'fleet-ros-'))
  readonly #bin: string
  readonly #environment: NodeJS.ProcessEnv
  readonly #libpython: string
  readonly #children = new Set<ChildProcess>()
  #server: ChildProcess | undefined
  #port = 0

  constructor(program: string) {
    this.#bin = dirname(program)
    const root = dirname(this.#bin)
    const [packages, libpython] = this.#askPython()
    this.#libpython = libpython
    // As the installed files are: without the right to execute, and linked against a name that is not among them.
    const libraries = join(this.#folder, 'lib')
    mkdirSync(libraries)
    symlinkSync(join(root, 'lib', 'librmw_fastrtps_cpp.so'), join(libraries, 'librmw_implementation.so'))
    copyFileSync(join(packages, 'rosbridge_server_rs', 'rosbridge_server_rs_jazzy'), this.#program)
    chmodSync(this.#program, 0o755)
    const bundled = readdirSync(packages).filter((name) => /^ros_.*\.libs$/.test(name))
    const paths = [libraries, join(root, 'lib'), ...bundled.map((name) => join(packages, name))]
    this.#environment = {
      ...process.env,
      AMENT_PREFIX_PATH: root,
      LD_LIBRARY_PATH: paths.join(':'),
      ROS_AUTOMATIC_DISCOVERY_RANGE: 'LOCALHOST',
      ROS_DISTRO: 'jazzy',
      // Tests that run at the same time do not see each other.
      ROS_DOMAIN_ID: String(process.pid % DOMAINS),
      ROS_LOG_DIR: this.#folder,
    }
  }

  get url(): string {
    return `ws://127.0.0.1:${this.#port}`
  }

  /** Resolves with whether it offers an action: an environment that was made earlier lacks the package. */
  async startRobot(): Promise<boolean> {
    const child = spawn(join(this.#bin, 'python'), [ROBOT], {
      env: this.#environment,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#children.add(child)
    let said = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    await until('the robot is there', () => said.includes('\n'), START_MS)
    return said.includes('with actions')
  }

  /** Starts on the port of an earlier start, and resolves once it listens. */
  async startServer(): Promise<void> {
    if (this.#port === 0) this.#port = await freePort()
    const child = spawn(this.#program, ['--bind', `127.0.0.1:${this.#port}`, '--no-rosapi'], {
      env: { ...this.#environment, LD_PRELOAD: this.#libpython },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    this.#children.add(child)
    this.#server = child
    const isListening = () =>
      fetch(this.url.replace('ws:', 'http:')).then(
        () => true,
        (error: Error) => Object(error.cause)['code'] !== 'ECONNREFUSED',
      )
    await until('rosbridge listens', isListening, START_MS)
  }

  async killServer(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (server !== undefined) await this.#kill(server)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#children].map((child) => this.#kill(child)))
    rmSync(this.#folder, { recursive: true })
  }

  get #program(): string {
    return join(this.#folder, 'rosbridge')
  }

  async #kill(child: ChildProcess): Promise<void> {
    this.#children.delete(child)
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await ended
  }

  #askPython(): readonly [packages: string, libpython: string] {
    const code =
      'import os,sysconfig as s;v=s.get_config_var;print(s.get_paths()["purelib"]);' +
      'print(os.path.join(v("LIBDIR"),v("INSTSONAME")))'
    const [packages = '', libpython = ''] = execFileSync(join(this.#bin, 'python'), ['-c', code], {
      encoding: 'utf8',
    }).split('\n')
    return [packages, libpython]
  }
}
