package main

import (
	"fmt"

	"weir/control"
	"weir/internal/datadir"
)

// secrets are what a server must be given or makes for itself.
type secrets struct {
	keyring *control.Keyring
	admin   control.Secret
}

// loadSecrets takes each from the environment, else from its file in the data folder, made at the first start.
func loadSecrets(cfg *serveCmd, dir *datadir.Dir) (secrets, error) {
	master, err := masterKey(cfg, dir)
	if err != nil {
		return secrets{}, err
	}
	keyring, err := control.NewKeyring(master)
	if err != nil {
		return secrets{}, err
	}
	admin := control.NewSecret(cfg.AdminToken)
	if cfg.AdminToken == "" {
		if admin, err = control.LoadOrCreateTokenFile(dir.Path(adminTokenFile)); err != nil {
			return secrets{}, fmt.Errorf("admin token: %w", err)
		}
	}
	return secrets{keyring, admin}, nil
}

func masterKey(cfg *serveCmd, dir *datadir.Dir) (control.Secret, error) {
	if cfg.MasterKey == "" {
		key, err := control.LoadOrCreateKeyFile(dir.Path("master.key"))
		if err != nil {
			return key, fmt.Errorf("master key: %w", err)
		}
		return key, nil
	}
	key, err := control.ParseMasterKey(cfg.MasterKey)
	if err != nil {
		return key, fmt.Errorf("WEIR_MASTER_KEY: %w", err)
	}
	return key, nil
}
