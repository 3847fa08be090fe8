//! `mcp`: what is refused before a client is heard, and what goes to standard output.

use std::path::Path;

use crate::lab::Lab;

#[test]
fn mcp_refuses_flags_that_do_not_go_together_before_it_speaks() {
    let lab = Lab::new();
    let refused = lab.run(&["mcp", "--creds", "ann.creds"]);
    refused.refuses(2, &["--nats"]);
    assert_eq!(refused.stdout, "");
    lab.run(&["mcp", "--nats", "nats://127.0.0.1:1", "--as", "human-ann"]).refuses(2, &["--as cannot be used"]);
    let line = [("HOLDPOINT_TURN_SOCKET", Path::new("/nowhere/turn"))];
    for keys in [&["--as", "human-ann"][..], &["--flight", "f"], &["--nats", "nats://127.0.0.1:1", "--creds", "c"]] {
        let refused = lab.run_with(&[&["mcp"], keys].concat(), &line);
        refused.refuses(2, &["cannot be used in an agent's turn"]);
        assert_eq!(refused.stdout, "");
    }
}

#[test]
fn mcp_says_nothing_and_ends_well_when_its_client_goes_and_its_help_teaches() {
    let lab = Lab::new();
    let gone = lab.run(&["mcp", "--repo", "repo"]);
    assert_eq!((gone.code, gone.stdout.as_str(), gone.stderr.as_str()), (Some(0), "", ""));
    let help = lab.run(&["mcp", "--help"]).stdout;
    for word in ["Examples:", "holdpoint mcp --as", "get_task", "complete", "status", "HOLDPOINT_TURN_SOCKET"] {
        assert!(help.contains(word), "{word} in {help}");
    }
}
