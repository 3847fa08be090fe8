//! What honest test suites do works with the rights of a check, whose tree is read-only and whose network is a loopback.

use crate::lab::Lab;

/// Python programs; each ends with an error if it cannot do what it wants.
const SUITES: [(&str, &str); 16] = [
    (
        "tcp on the loopback",
        "import socket\ns=socket.create_server(('127.0.0.1',0)); c=socket.create_connection(s.getsockname()); a,_=s.accept(); c.send(b'x'); assert a.recv(1)==b'x'",
    ),
    (
        "udp on the loopback",
        "import socket\ns=socket.socket(type=socket.SOCK_DGRAM); s.bind(('127.0.0.1',0)); socket.socket(type=socket.SOCK_DGRAM).sendto(b'x',s.getsockname()); assert s.recv(1)==b'x'",
    ),
    (
        "ipv6 on the loopback",
        "import os,socket\nif os.path.exists('/proc/net/if_inet6'):\n  s=socket.create_server(('::1',0),family=socket.AF_INET6); socket.create_connection(s.getsockname()[:2])",
    ),
    (
        "many servers by name",
        "import socket,threading,http.server,urllib.request\ns=http.server.ThreadingHTTPServer(('localhost',0),http.server.SimpleHTTPRequestHandler); threading.Thread(target=s.serve_forever,daemon=True).start()\nassert urllib.request.urlopen(f'http://localhost:{s.server_port}/').status==200",
    ),
    (
        "unix socket in its temporary folder",
        "import os,socket\np=os.environ['TMPDIR']+'/s'; s=socket.socket(socket.AF_UNIX); s.bind(p); s.listen(); socket.socket(socket.AF_UNIX).connect(p)",
    ),
    (
        "abstract unix socket",
        "import socket\ns=socket.socket(socket.AF_UNIX); s.bind('\\0own'); s.listen(); socket.socket(socket.AF_UNIX).connect('\\0own')",
    ),
    (
        "trees of processes",
        "import subprocess,sys\nassert subprocess.check_output(['sh','-c','(echo a; sh -c \"echo b & wait\") | cat'])==b'a\\nb\\n'",
    ),
    (
        "new sessions and signals",
        "import os,signal,subprocess\np=subprocess.Popen(['sleep','60'],start_new_session=True); os.killpg(p.pid,signal.SIGTERM); assert p.wait()==-15",
    ),
    (
        "threads and processes that share memory",
        "import multiprocessing as m\nq=m.Queue(); v=m.Value('i',0); l=m.Lock()\ndef w():\n  with l: v.value+=1\n  q.put(1)\nps=[m.Process(target=w) for _ in range(4)]; [p.start() for p in ps]; [p.join() for p in ps]; assert v.value==4 and [q.get() for _ in ps]==[1]*4",
    ),
    (
        "shared memory by name",
        "from multiprocessing import shared_memory as s\na=s.SharedMemory('own',True,4096); b=s.SharedMemory('own'); a.buf[0]=7; assert b.buf[0]==7; b.close(); a.close(); a.unlink()",
    ),
    (
        "pseudo terminals",
        "import os,pty\npid,fd=pty.fork()\nif pid==0: os.execvp('sh',['sh','-c','test -t 0 && echo yes'])\nassert b'yes' in os.read(fd,100)",
    ),
    (
        "locks of a database",
        "import os,sqlite3\np=os.environ['TMPDIR']+'/d'; c=sqlite3.connect(p); c.execute('pragma journal_mode=wal'); c.execute('create table t(x)'); c.execute('insert into t values(1)'); c.commit(); assert sqlite3.connect(p).execute('select x from t').fetchone()==(1,)",
    ),
    (
        "watched files",
        "import ctypes,os\nl=ctypes.CDLL(None); f=l.inotify_init1(0); t=os.environ['TMPDIR']; assert l.inotify_add_watch(f,t.encode(),0x100)>0; open(t+'/new','w'); assert b'new' in os.read(f,4096)",
    ),
    (
        "temporary files and their modes",
        "import os,shutil,tempfile\nd=tempfile.mkdtemp(); open(d+'/a','w').write('x'); os.chmod(d+'/a',0o640); shutil.copytree(d,d+'2'); os.utime(d+'2/a',(1,1)); os.symlink('a',d+'/l'); os.link(d+'/a',d+'/h'); os.mkfifo(d+'/p'); os.chmod(d,0o2755); shutil.rmtree(d)",
    ),
    (
        "closed folders",
        "import os,tempfile\nd=tempfile.mkdtemp(); os.mkdir(d+'/c'); os.chmod(d+'/c',0)\ntry: os.listdir(d+'/c')\nexcept PermissionError: pass\nelse: raise SystemExit('a plain user may not')\nos.chmod(d+'/c',0o700)",
    ),
    (
        "its own limits and priority",
        "import os,resource,threading\nresource.setrlimit(resource.RLIMIT_NOFILE,(256,256)); resource.setrlimit(resource.RLIMIT_CORE,(0,0)); os.nice(1); os.sched_setaffinity(0,os.sched_getaffinity(0)); os.setpriority(os.PRIO_PROCESS,0,os.getpriority(os.PRIO_PROCESS,0)+4)",
    ),
];

#[tokio::test]
async fn what_honest_suites_do_works() {
    let lab = Lab::full();
    for (what, code) in SUITES {
        let mut command = lab.command("");
        command.argv = ["/usr/bin/python3", "-c", code].map(str::to_owned).into();
        command.dir = lab.tree();
        command.env.insert("TMPDIR".to_owned(), lab.scratch().display().to_string());
        let outcome = lab.sandbox.run(&command, None).await.unwrap();
        let said = crate::lab::text(&outcome.stderr);
        assert_eq!(outcome.ended, holdpoint_sandbox::Ended::Exited(0), "{what}: {said}");
    }
}

#[tokio::test]
async fn tree_that_may_be_written_is_written_like_any_other() {
    for mut lab in Lab::both() {
        lab.profile.write.push(lab.tree());
        lab.profile.read.clear();
        let tree = lab.tree().display().to_string();
        let line = "cd {} && mkdir -p out && echo snapshot > out/s && mv out/s kept && chmod +x kept && touch -d 2001-01-01 kept \
                    && ln -s kept link && cp -a kept copy && tar cf all.tar kept && mkdir x && tar xf all.tar -C x && rm -r out x";
        lab.ok(&line.replace("{}", &tree)).await;
    }
}
